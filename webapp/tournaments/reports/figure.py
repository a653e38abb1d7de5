"""The learning curves of a report, drawn here: a page that is printed or kept runs no script. Pure functions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podracer_core.tournament.sentences import number

WIDTH, HEIGHT = 760, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 748, 10, 246

Point = tuple[float, float | None]


def report_figure(
    curves: Mapping[str, Mapping[str, Any]], board: Sequence[Mapping[str, Any]], target: float | None
) -> dict[str, Any] | None:
    """Lines, ticks and the target in the drawing's units; None where there is no point. board: the best first

    curves: as `tournament_curves` of curves/selectors.py has them
    """
    lines = {agent: _points(curve) for agent, curve in curves.items()}
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points if y is not None]
    if not ys:
        return None
    ys += [] if target is None else [target]
    across, up = _Scale(0.0, max(xs), LEFT, RIGHT), _Scale(*_padded(min(ys), max(ys)), BOTTOM, TOP)
    ranked = [(entry["agent"], f"c{entry['color'] % 12}") for entry in board if entry["kind"] == "agent"][::-1]
    known = dict(ranked)
    others = [(agent, "ghost") for agent in lines if agent not in known]
    return {
        "lines": [
            {"path": path, "css": css}
            for agent, css in (*others, *ranked)
            if (path := _path(lines.get(agent, ()), across, up))
        ],
        "x_ticks": [(across(value), _count(value)) for value in ticks(0.0, max(xs))],
        "y_ticks": [(up(value), number(value)) for value in ticks(up.low, up.high)],
        "target": None if target is None else up(target),
    }


def _points(curve: Mapping[str, Any]) -> list[Point]:
    base = curve["base_env_steps"]
    return [(base + x, y) for x, y in zip(curve["env_steps"], curve["episodic_return"], strict=True)]


def _padded(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    return low - room, high + room


class _Scale:
    """From values to the drawing's units."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.low, self.high = low, high
        self._begin, self._each = begin, (end - begin) / ((high - low) or 1.0)

    def __call__(self, value: float) -> float:
        return round(self._begin + (value - self.low) * self._each, 1)


def _path(points: Iterable[Point], across: _Scale, up: _Scale) -> str:
    """A gap where nothing is known."""
    parts, pen = [], "M"
    for x, y in points:
        if y is None:
            pen = "M"
            continue
        parts.append(f"{pen}{across(x)} {up(y)}")
        pen = "L"
    return "".join(parts)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values from `low` to `high`, about so many."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / about))
    step = next(times * power for times in (1, 2, 2.5, 5, 10, 20) if times * power * about >= span)
    return [count * step for count in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _count(value: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.3g}"
