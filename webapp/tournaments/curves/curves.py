"""Learning curves as columns, thinned so that every extreme stays visible. Read through `selectors`."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from tsdownsample import MinMaxDownsampler

from webapp.tournaments.models import CurvePoint

Curve = dict[str, list[Any]]

AXES = ("env_steps", "seconds")


def curves_of(agent_ids: Sequence[int], *, losses: bool = True) -> dict[int, Curve]:
    """The complete curve of each agent that has one, in one query; without `losses` only the return."""
    fields = ["agent_id", "env_steps", "seconds", "episodic_return", *(["losses"] if losses else [])]
    rows = CurvePoint.objects.filter(agent__in=agent_ids).order_by("agent_id", "env_steps").values_list(*fields)
    grouped: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for agent_id, *row in rows.iterator(chunk_size=5000):
        grouped[agent_id].append(tuple(row))
    return {agent_id: _columns(points) for agent_id, points in grouped.items()}


def _columns(points: list[tuple[Any, ...]]) -> Curve:
    curve: Curve = {
        "env_steps": [point[0] for point in points],
        "seconds": [point[1] for point in points],
        "episodic_return": [_finite(point[2]) for point in points],
    }
    if points and len(points[0]) > 3:
        for name in sorted({name for point in points for name in point[3]}):
            curve[name] = [_finite(point[3].get(name)) for point in points]
    return curve


def joined(line: Iterable[Curve]) -> Curve:
    """The curves of a line of descent one behind the other; env steps and seconds count on."""
    line = [curve for curve in line if curve["env_steps"]]
    names = list(dict.fromkeys(name for curve in line for name in curve)) or [*AXES, "episodic_return"]
    whole: Curve = {name: [] for name in names}
    offset = dict.fromkeys(AXES, 0)
    for curve in line:
        length = len(curve["env_steps"])
        for name in names:
            column = curve.get(name, [None] * length)
            whole[name] += [value + offset[name] for value in column] if name in AXES else column
        offset = {axis: whole[axis][-1] for axis in AXES}
    return whole


def thinned(curve: Curve, points: int) -> Curve:
    """At most about `points` of the curve: its ends, and the minima and maxima of each of its columns."""
    length = len(curve["env_steps"])
    if length <= points:
        return curve
    columns = [name for name in curve if name not in AXES]
    share = max(2, points // max(1, len(columns)) // 2 * 2)
    kept = {0, length - 1}
    for name in columns:
        kept.update(_extremes(curve[name], share))
    indices = sorted(kept)
    return {name: [column[index] for index in indices] for name, column in curve.items()}


def _extremes(column: list[Any], share: int) -> list[int]:
    """Indices of the minima and maxima of `share` / 2 stretches of the column's numbers."""
    present = [index for index, value in enumerate(column) if value is not None]
    if len(present) <= share:
        return present
    values = np.array([column[index] for index in present], dtype=np.float64)
    chosen = MinMaxDownsampler().downsample(values, n_out=share)  # type: ignore[no-untyped-call]
    return [present[index] for index in chosen]


def _finite(value: Any) -> float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) else None
