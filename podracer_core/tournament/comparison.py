"""How groups of evaluated agents compare, with how sure that is.

A group is a tournament's leaderboard, those of its repetitions together, or one agent: the returns of each agent's
evaluation episodes. After Agarwal et al. 2021 (arXiv 2108.13264): the interquartile mean, performance profiles and the
probability of improvement, each with a 95 % interval from one stratified bootstrap, which draws episodes anew within
each agent, so that all keep their weight. Of repetitions it draws these anew as well: they differ from one another more
than the episodes of any.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podracer_core.tournament.statistics import CONFIDENCE, RESAMPLES

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.float32]
"""Whole numbers, which single precision has exactly up to 16 million, in half the memory."""

CURVE_RESAMPLES = 300

FEWEST_RESAMPLES = 200
MOST_DRAWS = 12_800_000
"""Of all groups together, as of ten with twenty agents of 64 episodes: they are in memory at once."""

PROFILE_POINTS = 101


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The episodes of a group in the order of their returns, and its bootstrap samples.

    values: [episodes]; counts: [episodes, resamples], how often each episode was drawn; before: [episodes + 1,
    resamples], how many draws lie before each episode, and at the end all; these differ from sample to sample where
    repetitions with more and with fewer episodes are drawn
    """

    values: Floats
    counts: Counts
    before: Counts

    @property
    def drawn(self) -> Counts:
        """How many episodes each bootstrap sample has. [resamples]"""
        return np.asarray(self.before[-1])


def resamples(episodes: int) -> int:
    """How many bootstrap samples groups with so many episodes in all can have."""
    return max(FEWEST_RESAMPLES, min(RESAMPLES, MOST_DRAWS // max(1, episodes)))


def sample(
    returns: Sequence[Sequence[float]], *, runs: Sequence[int] = (), resamples: int = RESAMPLES, seed: int = 0
) -> Sample:
    """The sample of a group: the returns of each of its agents' episodes, one at least in all. All are numbers.

    runs: which repetition each agent is of, where the group has several; resamples: as many as of whom it is compared
    with
    """
    rng = np.random.default_rng(seed)
    whose = runs or [0] * len(returns)
    strata = [(run, np.asarray(part, np.float64)) for run, part in zip(whose, returns, strict=True) if len(part)]
    values = np.concatenate([part for _, part in strata])
    order = np.argsort(values, kind="stable")
    ranks = np.split(np.argsort(order), np.cumsum([len(part) for _, part in strata])[:-1])
    counts = np.empty((len(values), resamples), np.float32)
    for places in ranks:
        counts[places] = _drawn(len(places), resamples, rng)
    present = sorted({run for run, _ in strata})
    if len(present) > 1:
        drawn = _drawn(len(present), resamples, rng)
        for places, (run, _) in zip(ranks, strata, strict=True):
            counts[places] *= drawn[present.index(run)]
    return _sample(values[order], counts)


def _drawn(number: int, resamples: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """How often each of `number` episodes of one agent, or repetitions, is in each bootstrap sample.

    [number, resamples]
    """
    drawn = rng.integers(0, number, size=(number, resamples)) * resamples + np.arange(resamples)
    return np.bincount(drawn.ravel(), minlength=number * resamples).reshape(number, resamples)


def _sample(values: Floats, counts: Counts) -> Sample:
    before = np.zeros((len(counts) + 1, counts.shape[1]), np.float32)
    # numpy's own sum along the first axis takes several times as long: it goes down one column after another.
    for place, drawn in enumerate(counts):
        np.add(before[place], drawn, out=before[place + 1])
    return Sample(values, counts, before)


def _as_is(group: Sample) -> Sample:
    """The group with each episode drawn once."""
    episodes = len(group.values)
    before = np.arange(episodes + 1, dtype=np.float32)
    return Sample(group.values, np.ones((episodes, 1), np.float32), before[:, np.newaxis])


def iqm(group: Sample) -> Estimate:
    """The mean of the middle half of all episodes; those at its two edges count by their fraction."""
    return _estimate(_iqm(_as_is(group)), _iqm(group))


def _iqm(group: Sample) -> Floats:
    """Of each bootstrap sample. [resamples]"""
    # From the lowest return up: each step to the next counts by how much of the middle half is above it.
    end, steps = group.drawn * 3 / 4, np.diff(group.values)
    below = np.einsum("e,er->r", steps, np.clip(group.before[1:-1], group.drawn / 4, end))
    return np.asarray(group.values[0] + (steps.sum() * end - below) / (group.drawn / 2))


def profile(group: Sample, thresholds: Floats) -> tuple[Floats, Floats, Floats]:
    """The share of episodes whose return is above each threshold, and the ends of its interval."""
    upto = np.searchsorted(group.values, thresholds, side="right")
    above = 1 - group.before[upto].astype(np.float64) / group.drawn
    low, high = np.quantile(above, _tails(), axis=1)
    return 1 - upto / len(group.values), low, high


def thresholds(groups: Sequence[Sample]) -> Floats:
    """Returns from the lowest to the highest of all groups, for their profiles."""
    low = min(float(group.values[0]) for group in groups)
    high = max(float(group.values[-1]) for group in groups)
    return np.linspace(low, high, PROFILE_POINTS)


def probability_of_improvement(first: Sample, second: Sample) -> Estimate:
    """How probable it is that an episode of the first has a higher return than one of the second; a tie counts half."""
    below = np.searchsorted(second.values, first.values, side="left")
    upto = np.searchsorted(second.values, first.values, side="right")

    def probability(mine: Sample, others: Sample) -> Floats:
        wins = (others.before[below] + others.before[upto]) / 2
        won = np.einsum("er,er->r", mine.counts, wins, dtype=np.float64)
        return np.asarray(won / (mine.drawn.astype(np.float64) * others.drawn))

    return _estimate(probability(_as_is(first), _as_is(second)), probability(first, second))


def _estimate(value: Floats, resampled: Floats) -> Estimate:
    low, high = np.quantile(resampled, _tails())
    return Estimate(float(value[0]), float(low), float(high))


def _tails() -> list[float]:
    return [(1 - CONFIDENCE) / 2, 1 - (1 - CONFIDENCE) / 2]


# Learning curves


def bridged(lines: Floats) -> Floats:
    """`lines` with a straight line over the gaps within each; before its first and after its last point it stays open.

    lines: [agents, bins], NaN where there is no point
    """
    whole, bins = lines.copy(), lines.shape[1]
    known = np.flatnonzero(~np.isnan(lines))
    apart = np.diff(known)
    before = np.flatnonzero((apart > 1) & (np.diff(known // bins) == 0))
    sizes = apart[before] - 1
    begins = known[before] + 1 - (np.cumsum(sizes) - sizes)
    gaps = np.arange(sizes.sum()) + np.repeat(begins, sizes)
    whole.flat[gaps] = np.interp(gaps, known, lines.flat[known]) if len(gaps) else gaps
    return whole


def mean_line(lines: Floats) -> Floats:
    """The mean of the lines that are there at each place, NaN where there is none. lines: as in `mean_band`"""
    there = ~np.isnan(lines)
    with np.errstate(invalid="ignore"):
        return np.asarray(lines.sum(axis=0, where=there) / there.sum(axis=0))


def mean_band(lines: Floats, *, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """The mean of the lines that are there at each place, and its 95 % interval over agents; NaN where there is none.

    lines: [agents, bins], NaN where an agent is not under way; or [repetitions, bins], of each the mean of its agents
    """
    there = ~np.isnan(lines)
    agents = len(lines)
    rng = np.random.default_rng(seed)
    # Single precision is enough for how far the mean of a sample is from that of all.
    drawn = np.empty((CURVE_RESAMPLES, agents), np.float32)
    for counts in drawn:
        counts[:] = np.bincount(rng.integers(agents, size=agents), minlength=agents)
    mean = mean_line(lines)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.subtract(lines, mean, out=np.zeros(lines.shape, np.float32), where=there, casting="same_kind")
        # A sample that drew none of those that are there says nothing about the place.
        means = mean + (drawn @ off) / (drawn @ there.astype(np.float32))
    low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    known = there.any(axis=0)
    low[known], high[known] = _interval(means[:, known])
    return mean, low, high


def _interval(means: Floats) -> Floats:
    """The ends of each column's, of the samples that say something; numpy's own way with NaN is slow."""
    found = np.quantile(means, _tails(), axis=0)
    some = np.isnan(means).any(axis=0)
    found[:, some] = np.nanquantile(means[:, some], _tails(), axis=0)
    return np.asarray(found)
