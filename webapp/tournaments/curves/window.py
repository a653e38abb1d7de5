"""A window on the curves of a tournament, thinned to a number of points. Read through `selectors`.

All lines are worked on at once, one behind the other in the same arrays: there may be ten thousand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from webapp.tournaments.curves.population import POINT, AgentCurve, Axis, Floats, on_axis, returns_of

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
Curve = dict[str, Any]

LINE_POINTS = 1000
"""The most that one line is drawn with: more than its share of a wide screen has pixels."""

FEWEST_POINTS = 8
"""What a line keeps, however many there are."""


@dataclass(frozen=True)
class _Lines:
    """points, returns, line (which one a point is of): [points]; the rest [lines], as places among the points.

    inside: from `first` to before `after` the window's; around: with a neighbour at each end that leads out of it, from
    `begin` to before `end`, both the same where the line does not touch the window
    """

    points: npt.NDArray[Any]
    returns: Floats
    line: Indices
    first: Indices
    after: Indices
    begin: Indices
    end: Indices

    @property
    def around(self) -> Indices:
        """How many points of each."""
        return self.end - self.begin


def window(curves: Sequence[AgentCurve], axis: Axis, low: float, high: float, points: int) -> dict[str, Curve]:
    """The parts of the curves within [low, high], and a neighbour at each end that leads out of it, by agent id.

    Together about `points`: every line keeps the minimum and the maximum of each of its stretches, and those of the
    leaderboard and of pods that train now have up to half of them before the others get theirs.
    """
    if not curves:
        return {}
    lines = _lines(curves, axis, low, high)
    chosen = np.flatnonzero(_kept(lines, _shares(lines, curves, points)))
    return _columns(curves, lines, chosen)


def _lines(curves: Sequence[AgentCurve], axis: Axis, low: float, high: float) -> _Lines:
    sizes = np.array([len(curve.packed) for curve in curves]) // POINT.itemsize
    line = np.repeat(np.arange(len(curves)), sizes)
    stops = np.cumsum(sizes)
    starts = stops - sizes
    points = np.frombuffer(b"".join([curve.packed for curve in curves]), POINT)
    offsets, divisors = np.array([curve.place(axis) for curve in curves], np.float64).T
    x = on_axis(axis, points, offsets[line], divisors[line])
    first = starts + np.bincount(line[x < low], minlength=len(curves))
    after = starts + np.bincount(line[x <= high], minlength=len(curves))
    # A line that has no point in the window still crosses it between two of its points.
    touches = (first < after) | ((starts < first) & (first < stops))
    begin = np.where(touches, np.maximum(starts, first - 1), first)
    end = np.where(touches, np.minimum(stops, after + 1), first)
    return _Lines(points, returns_of(points), line, first, after, begin, end)


def _shares(lines: _Lines, curves: Sequence[AgentCurve], points: int) -> Indices:
    """How many points each line may keep."""
    favoured = np.array([curve.favoured for curve in curves]) & (lines.around > 0)
    others = ~favoured & (lines.around > 0)
    share = _share(lines.around[favoured].tolist(), points // 2)
    spent = int(np.minimum(lines.around[favoured], share).sum())
    return np.where(favoured, share, _share(lines.around[others].tolist(), points - spent))


def _share(counts: Sequence[int], budget: int) -> int:
    """How many points each line may have, so that all have `budget` together; short lines leave theirs."""
    share, left = 0, budget
    for rank, count in enumerate(sorted(counts)):
        share = left // (len(counts) - rank)
        if share < count:
            break
        left -= count
    else:
        share = LINE_POINTS
    return min(LINE_POINTS, max(FEWEST_POINTS, share))


def _kept(lines: _Lines, shares: Indices) -> Bools:
    """Which points are kept: all of a short line; of others the extremes of stretches, the ends, a NaN in every gap."""
    long = lines.around > shares
    kept = _spans(lines, lines.begin, np.where(long, lines.begin, lines.end))
    known = ~np.isnan(lines.returns)
    _extremes_keep(kept, lines, shares, known & _spans(lines, lines.first, np.where(long, lines.after, lines.first)))
    inside = long & (lines.first < lines.after)
    for places in (lines.first[inside], lines.after[inside] - 1, lines.begin[long], lines.end[long] - 1):
        kept[places] = True
    _gaps_keep(kept, ~known & _spans(lines, lines.begin, np.where(long, lines.end, lines.begin)))
    return kept


def _spans(lines: _Lines, begin: Indices, end: Indices) -> Bools:
    """The points from `begin` to before `end` of every line."""
    place = np.arange(len(lines.line))
    return np.asarray((begin[lines.line] <= place) & (place < end[lines.line]))


def _extremes_keep(kept: Bools, lines: _Lines, shares: Indices, known: Bools) -> None:
    """Of the `known` points of each line the minimum and the maximum of its stretches, or all where they are few."""
    places = np.flatnonzero(known)
    line = lines.line[places]
    counts = np.bincount(line, minlength=len(shares))
    few = counts[line] <= shares[line]
    kept[places[few]] = True
    places, line = places[~few], line[~few]
    if not len(places):
        return
    rank = np.arange(len(places)) - np.searchsorted(line, line)
    stretch = rank * (shares[line] // 2) // counts[line]
    begins = np.flatnonzero(np.diff(line, prepend=-1) | np.diff(stretch, prepend=-1))
    values, number = lines.returns[places], np.repeat(np.arange(len(begins)), np.diff(begins, append=len(places)))
    for extremes in (np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)):
        found = np.flatnonzero(values == extremes[number])
        _, once = np.unique(number[found], return_index=True)
        kept[places[found[once]]] = True


def _gaps_keep(kept: Bools, unknown: Bools) -> None:
    """Between each two neighbours that are kept the first of what is `unknown`."""
    missing = np.flatnonzero(unknown)
    left = np.searchsorted(np.flatnonzero(kept), missing, side="right")
    _, once = np.unique(left, return_index=True)
    kept[missing[once]] = True


def _columns(curves: Sequence[AgentCurve], lines: _Lines, chosen: Indices) -> dict[str, Curve]:
    points = lines.points[chosen]
    env_steps = points["env_steps"].tolist()
    seconds = np.round(points["seconds"].astype(np.float64), 3).tolist()
    returns = [None if value != value else value for value in lines.returns[chosen].tolist()]
    ends = np.cumsum(np.bincount(lines.line[chosen], minlength=len(curves))).tolist()
    found = {}
    for curve, begin, end in zip(curves, [0, *ends], ends, strict=False):
        if begin < end:
            found[str(curve.agent_id)] = {
                "name": curve.name,
                "depth": curve.depth,
                "base_env_steps": curve.base_env_steps,
                "start_seconds": curve.start_seconds,
                "round_env_steps": curve.round_env_steps,
                "env_steps": env_steps[begin:end],
                "seconds": seconds[begin:end],
                "episodic_return": returns[begin:end],
            }
    return found
