"""What the pods of a tournament are as a group: their mean and middle at equal x, and the best return so far."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from webapp.tournaments.curves.population import AgentCurve, Axis, Floats

T_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Student's t at 97.5 % for 1 to 30 degrees of freedom; beyond it is near the normal distribution's 1.96."""


def group(
    curves: Sequence[AgentCurve], axis: Axis, low: float | None, high: float | None, points: int
) -> dict[str, list[Any]]:
    """What all pods are together at `points` equal steps of x, as columns. Where there is no pod there is no row.

    pods: how many are under way at x; mean with the 95 % interval of the mean; lowest and highest of them; iqm with the
    quartiles; best: the highest return that any pod has had up to x.
    """
    lines = [_known(curve, axis) for curve in curves]
    lines = [(x, y) for x, y in lines if len(x)]
    if not lines:
        return {name: [] for name in ("x", "pods", *_STATISTICS, "best")}
    all_x = np.concatenate([x for x, _ in lines])
    grid = np.linspace(
        all_x.min() if low is None else low, all_x.max() if high is None else high, points, dtype=np.float64
    )
    values = np.sort(np.stack([np.interp(grid, x, y, left=np.nan, right=np.nan) for x, y in lines]), axis=0)
    count = np.count_nonzero(~np.isnan(values), axis=0)
    best = _running_best(all_x, np.concatenate([y for _, y in lines]), grid)
    rows = ~np.isnan(best)
    columns = {"x": grid, "pods": count, **_statistics(values, count), "best": best}
    return {name: [_plain(value) for value in column[rows].tolist()] for name, column in columns.items()}


def _plain(value: float) -> float | None:
    return None if value != value else value


def _known(curve: AgentCurve, axis: Axis) -> tuple[Floats, Floats]:
    """The points that have a return. The line between two of them is straight, whatever was unknown there."""
    returns = curve.returns
    known = ~np.isnan(returns)
    return curve.x(axis)[known], returns[known]


def _running_best(x: Floats, y: Floats, grid: Floats) -> Floats:
    """The greatest y of all points up to each place of the grid; NaN before the first."""
    order = np.argsort(x, kind="stable")
    best = np.concatenate([[np.nan], np.maximum.accumulate(y[order])])
    return np.asarray(best[np.searchsorted(x[order], grid, side="right")])


_STATISTICS = ("mean", "mean_low", "mean_high", "lowest", "highest", "iqm", "lower_quartile", "upper_quartile")


def _statistics(values: Floats, count: npt.NDArray[np.intp]) -> dict[str, Floats]:
    """values: [pods, grid], each column sorted with its NaN last; count: [grid], how many are none"""
    with np.errstate(invalid="ignore", divide="ignore"):
        known = np.where(np.isnan(values), 0.0, values)
        mean = known.sum(axis=0) / np.where(count, count, np.nan)
        deviations = np.where(np.isnan(values), 0.0, values - mean)
        error = np.sqrt((deviations**2).sum(axis=0) / np.where(count > 1, count - 1, np.nan) / count)
        half = np.array([*T_QUANTILES, 1.96])[np.clip(count - 2, 0, len(T_QUANTILES))] * error
        cut = count // 4
        place = np.arange(len(values))[:, None]
        middle = np.where((place >= cut) & (place < count - cut), known, 0.0)
        iqm = middle.sum(axis=0) / np.where(count, count - 2 * cut, np.nan)
    lowest, lower_quartile, upper_quartile, highest = (_quantile(values, count, share) for share in (0, 0.25, 0.75, 1))
    columns = (mean, mean - half, mean + half, lowest, highest, iqm, lower_quartile, upper_quartile)
    return dict(zip(_STATISTICS, columns, strict=True))


def _quantile(values: Floats, count: npt.NDArray[np.intp], share: float) -> Floats:
    """Of each column of sorted values with its NaN last, between two neighbours in proportion."""
    place = np.maximum(0, count - 1) * share
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, np.maximum(0, count - 1))
    columns = np.arange(values.shape[1])
    low, high = values[below, columns], values[above, columns]
    return np.asarray(low + (high - low) * (place - below))
