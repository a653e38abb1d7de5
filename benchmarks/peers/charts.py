"""Learning curves as a small SVG that needs nothing to be shown, light or dark."""

import bisect
import math
import statistics
from collections.abc import Sequence
from html import escape

from benchmarks.peers.results import Contest, Summary
from benchmarks.peers.venvs import PARTICIPANTS

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 16, 44
POINTS = 120
FIRST_SECOND = 0.05
LABEL_HEIGHT = 16

COLOURS = ("#d4493a", "#3b76c4", "#c98a1b", "#3f9a6b", "#8a5fc0", "#5d7d8c", "#b0578f")
"""Podracer's first; then by the order of the table."""

STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#444}line{stroke:#8886;stroke-width:1}"
    "@media(prefers-color-scheme:dark){text{fill:#bbb}}"
)

Curve = Sequence[tuple[float, int, float]]
"""(seconds, env steps, return) in the order of time."""


def learning_curves(contest: Contest, target: float | None) -> str:
    """Median and range of the training return over the wall clock, which is logarithmic."""
    everyone = [contest.ours, *(summary for summary, _ in contest.peers)]
    curves = {summary.participant: curves_of(summary) for summary in everyone}
    curves = {name: found for name, found in curves.items() if found}
    values = [point[2] for found in curves.values() for curve in found for point in curve]
    if not values:
        return _svg(f'<text x="{LEFT}" y="{HEIGHT / 2}">No learning curves were kept.</text>')
    last = max(curve[-1][0] for found in curves.values() for curve in found)
    low, high = min(values), max([*values, target if target is not None else -math.inf])
    scale = _Scale(FIRST_SECOND, max(last, 1.0), low, high + 0.02 * (high - low))
    parts = [_axes(scale, target)]
    labels = []
    for place, (name, found) in enumerate(curves.items()):
        band = band_of(found, scale.seconds())
        colour = COLOURS[place % len(COLOURS)]
        parts.append(_band(band, scale, colour))
        labels.append((scale.y(band[-1][2]), PARTICIPANTS[name].title, colour))
    return _svg("".join(parts) + _legend(labels))


def curves_of(summary: Summary) -> list[Curve]:
    return [run["curve"] for run in summary.answers if run.get("curve")]


def band_of(curves: Sequence[Curve], seconds: Sequence[float]) -> list[tuple[float, float, float, float]]:
    """(seconds, least, median, most) of the curves that have begun by then; the last point of each is held.

    It ends where the last curve does.
    """
    end, band = max(curve[-1][0] for curve in curves), []
    for second in [*(second for second in seconds if second < end), end]:
        places = [bisect.bisect_right([point[0] for point in curve], second) for curve in curves]
        values = [curve[place - 1][2] for curve, place in zip(curves, places, strict=True) if place]
        if values:
            band.append((second, min(values), statistics.median(values), max(values)))
    return band


class _Scale:
    def __init__(self, first: float, last: float, low: float, high: float) -> None:
        self.first, self.last, self.low, self.high = first, last, low, high if high > low else low + 1

    def seconds(self) -> list[float]:
        return [self.first * (self.last / self.first) ** (i / POINTS) for i in range(POINTS + 1)]

    def x(self, seconds: float) -> float:
        share = math.log(max(seconds, self.first) / self.first) / math.log(self.last / self.first)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _axes(scale: _Scale, target: float | None) -> str:
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [f'<line x1="{LEFT}" y1="{floor}" x2="{right}" y2="{floor}"/>']
    for power in range(-1, 5):
        for second in (10.0**power, 3 * 10.0**power):
            if scale.first <= second <= scale.last:
                x = scale.x(second)
                parts.append(f'<line x1="{x}" y1="{floor}" x2="{x}" y2="{floor + 4}"/>')
                parts.append(f'<text x="{x}" y="{floor + 18}" text-anchor="middle">{second:g}</text>')
    parts.append(f'<text x="{right}" y="{HEIGHT - 6}" text-anchor="end">seconds of training, logarithmic</text>')
    for value in {scale.low, (scale.low + scale.high) / 2}:
        parts.append(f'<text x="{LEFT - 8}" y="{scale.y(value) + 4}" text-anchor="end">{value:,.0f}</text>')
    if target is not None:
        y = scale.y(target)
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{right}" y2="{y}" stroke-dasharray="4 4"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{target:g}</text>')
    return "".join(parts)


def _band(band: Sequence[tuple[float, float, float, float]], scale: _Scale, colour: str) -> str:
    upper = [f"{scale.x(second)},{scale.y(most)}" for second, _, _, most in band]
    lower = [f"{scale.x(second)},{scale.y(least)}" for second, least, _, _ in reversed(band)]
    line = " ".join(f"{scale.x(second)},{scale.y(median)}" for second, _, median, _ in band)
    return (
        f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.18"/>'
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
    )


def _legend(labels: Sequence[tuple[float, str, str]]) -> str:
    """Each name at the height of its line's end, or as near as the others and the frame let it be."""
    heights = spread([y for y, _, _ in sorted(labels)], LABEL_HEIGHT, HEIGHT - BOTTOM)
    return "".join(
        f'<text x="{WIDTH - RIGHT + 10}" y="{y + 4:.1f}" style="fill:{colour}">{escape(title)}</text>'
        for y, (_, title, colour) in zip(heights, sorted(labels), strict=True)
    )


def spread(heights: Sequence[float], apart: float, floor: float) -> list[float]:
    """Sorted `heights`, moved down until they are `apart`, then up until the last is above `floor`."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + apart) if placed else height)
    for place in reversed(range(len(placed))):
        bound = placed[place + 1] - apart if place + 1 < len(placed) else floor
        placed[place] = min(placed[place], bound)
    return placed


def _svg(body: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    return f"{head}<style>{STYLE}</style>{body}</svg>\n"
