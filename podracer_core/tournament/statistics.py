"""How good a policy is, and how sure that is, from the returns of its evaluation episodes.

The interquartile mean and the stratified bootstrap follow Agarwal et al. 2021 (arXiv 2108.13264).
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from podracer_core.progress import Evaluation

Returns = Sequence[float] | npt.NDArray[np.float64]

CONFIDENCE = 0.95
RESAMPLES = 1000


def summarise(
    returns: Returns,
    lengths: Sequence[int],
    kind: Literal["mean", "iqm", "lower_bound"] = "mean",
    *,
    seed: int = 0,
) -> Evaluation:
    """Score `returns` by `kind`; the interval bounds the statistic behind the score.

    `lower_bound` scores by the lower end of the mean's interval. The same arguments give the same answer.
    """
    values = np.asarray(returns, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        nan = math.nan
        return Evaluation(nan, nan, nan, nan, nan, tuple(map(float, values)), tuple(lengths))
    mean, iqm = float(values.mean()), float(interquartile_mean(values))
    low, high = bootstrap_interval(values, "iqm" if kind == "iqm" else "mean", seed=seed)
    score = {"mean": mean, "iqm": iqm, "lower_bound": low}[kind]
    return Evaluation(score, low, high, mean, iqm, tuple(map(float, values)), tuple(lengths))


def pooled(first: Evaluation, second: Evaluation, kind: Literal["mean", "iqm", "lower_bound"]) -> Evaluation:
    """Two evaluations of one policy as one."""
    return summarise((*first.returns, *second.returns), (*first.lengths, *second.lengths), kind)


def interquartile_mean(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Mean of the middle half along the last axis; the episodes at its two edges count by their fraction.

    values: [..., episodes]
    """
    ordered = np.sort(values, axis=-1)
    episodes = ordered.shape[-1]
    edges = np.arange(episodes + 1) / episodes
    weights = np.clip(np.minimum(edges[1:], 0.75) - np.maximum(edges[:-1], 0.25), 0, None)
    result: npt.NDArray[np.float64] = ordered @ weights / weights.sum()
    return result


def bootstrap_interval(
    values: npt.NDArray[np.float64], statistic: Literal["mean", "iqm"] = "mean", *, seed: int = 0
) -> tuple[float, float]:
    """The percentile bootstrap's 95 % interval of `statistic` over episodes. values: [episodes]"""
    samples = _resampled(values, statistic, seed)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return float(low), float(high)


def probability_better(first: Returns, second: Returns, kind: str = "mean", *, seed: int = 0) -> float:
    """How probable it is that the first policy's true score is above the second's; a tie counts half."""
    statistic: Literal["mean", "iqm"] = "iqm" if kind == "iqm" else "mean"
    a = _resampled(np.asarray(first, dtype=np.float64), statistic, seed)
    b = _resampled(np.asarray(second, dtype=np.float64), statistic, seed + 1)
    return float((a > b).mean() + 0.5 * (a == b).mean())


def _resampled(
    values: npt.NDArray[np.float64], statistic: Literal["mean", "iqm"], seed: int
) -> npt.NDArray[np.float64]:
    """`statistic` of RESAMPLES bootstrap samples of `values`."""
    rng = np.random.default_rng(seed)
    drawn = values[rng.integers(0, len(values), size=(RESAMPLES, len(values)))]
    if statistic == "mean":
        means: npt.NDArray[np.float64] = drawn.mean(axis=-1)
        return means
    return interquartile_mean(drawn)
