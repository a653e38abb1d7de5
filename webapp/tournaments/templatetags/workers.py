"""How busy a host is, drawn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.tournaments.templatetags.podracer import NBSP

register = template.Library()

SAMPLES = 60
"""As many as a worker keeps: a line shorter than these begins where the worker did."""

WIDTH, HEIGHT = 240, 36


@register.simple_tag
def usage_line(values: Sequence[float | None], most: float | None = 1) -> SafeString:
    """`values`, the newest at the right, on a fixed scale from 0 to `most`; a gap where nothing was measured."""
    pieces = list(_pieces(values, most or 1))
    area = " ".join(f"M{piece[0][0]:.1f} {HEIGHT}{_line(piece)}V{HEIGHT}Z" for piece in pieces)
    line = " ".join(f"M{piece[0][0]:.1f} {piece[0][1]:.1f}{_line(piece[1:])}" for piece in pieces)
    return format_html(
        '<svg class="usage" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<path class="area" d="{}"/><path class="line" d="{}"/></svg>',
        WIDTH,
        HEIGHT,
        area,
        line,
    )


def _pieces(values: Sequence[float | None], most: float) -> list[list[tuple[float, float]]]:
    """Points in the drawing's units, those between two gaps together."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for index, value in enumerate(values, start=SAMPLES - len(values)):
        if value is None:
            pieces.append([])
            continue
        y = HEIGHT - 1.5 - (HEIGHT - 3) * min(1.0, max(0.0, value / most))
        pieces[-1].append((WIDTH * index / (SAMPLES - 1), y))
    return [piece for piece in pieces if piece]


def _line(points: Sequence[tuple[float, float]]) -> str:
    return "".join(f"L{x:.1f} {y:.1f}" for x, y in points)


@register.filter
def alike(gpus: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The kinds of GPU, each with how many there are."""
    counts = Counter((gpu["name"], gpu["memory"]) for gpu in gpus)
    return [{"name": name, "memory": memory, "count": count} for (name, memory), count in counts.items()]


@register.filter
def newest(values: Sequence[float | None]) -> float | None:
    return values[-1] if values else None


@register.filter
def share(value: float | None) -> str:
    """A share as 63 %; a dash where it is not known."""
    return "–" if value is None else f"{value * 100:.0f}{NBSP}%"


@register.filter
def gigabytes(value: float | None) -> str:
    """Memory as 3.1 GB."""
    if value is None:
        return "–"
    size = value / 1e9
    figure = f"{size:.0f}" if size >= 99.5 else f"{size:.2g}" if size >= 9.95 else f"{size:.1f}"
    return f"{figure}{NBSP}GB"
