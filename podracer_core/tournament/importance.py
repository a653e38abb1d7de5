"""How much each hyperparameter mattered for the score among the agents of a tournament, and how sure that is.

The estimate is a main effect, as of the first order of a functional analysis of variance (Hutter, Hoos, Leyton-Brown
2014, "An Efficient Approach for Assessing Hyperparameter Importance", ICML): the share of the variance that the levels
of one hyperparameter explain by themselves. It is taken without a fitted model, as the correlation ratio corrected for
the number of levels (Kelley 1935, PNAS 21(9), 554-559), so that chance alone averages to 0.

What varies is the rank of a score, which no outlier moves, among agents of about as many descents: a later one goes on
from what its parents learned. The interval resamples founders with all that descend from them, since kin resemble each
other (the cluster bootstrap; Field and Welsh 2007, JRSS B 69(3), 369-390).

It says what mattered within what was tried, not what would matter elsewhere, and nothing of how two act together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podracer_core.hyperparameters import Value

MIN_AGENTS = 20
MIN_FOUNDERS = 5
"""Below these an interval would say less than its width."""

STRATUM = 10
"""Agents, at least, whose scores are ranked among each other; generations are joined until they are so many."""

MAX_DISTINCT = 6
"""A hyperparameter of so many values has each for a level; of more, numbers are cut into QUANTILES of like size."""

QUANTILES = 4
RESAMPLES = 1000
CONFIDENCE = 0.95

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Trial:
    """A scored agent. founder: the agent without parents that it descends from; depth: after how many descents."""

    score: float
    founder: int
    depth: int
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Level:
    """The agents with values from `low` to `high`. rank: their mean, 0 for the worst and 1 for the best."""

    low: Value
    high: Value
    agents: int
    rank: float


@dataclass(frozen=True, slots=True)
class Importance:
    """share: of the variance of ranks; [low, high]: its 95 % interval, which begins at 0 where it may be chance."""

    name: str
    share: float
    low: float
    high: float
    levels: tuple[Level, ...]


def importance_problem(trials: Sequence[Trial]) -> str | None:
    """Why no importance can be told, None where it can."""
    founders = len({trial.founder for trial in trials})
    if len(trials) >= MIN_AGENTS and founders >= MIN_FOUNDERS:
        return None
    return (
        f"Needs {MIN_AGENTS} scored agents of {MIN_FOUNDERS} founders, since kin resemble each other; "
        f"so far there {'is' if len(trials) == 1 else 'are'} {len(trials)} of {founders}."
    )


def importances(trials: Sequence[Trial], *, seed: int = 0) -> tuple[Importance, ...]:
    """Of each hyperparameter that varied, the most important first; none while there is an `importance_problem`.

    The same arguments give the same answer.
    """
    if importance_problem(trials) is not None:
        return ()
    ranks = _ranks(np.array([trial.score for trial in trials]), [trial.depth for trial in trials])
    weights = _weights([trial.founder for trial in trials], seed)
    found = (_importance(name, trials, ranks, weights) for name in trials[0].values)
    return tuple(sorted((item for item in found if item), key=lambda item: -item.share))


def _importance(name: str, trials: Sequence[Trial], ranks: Floats, weights: Floats) -> Importance | None:
    members = _levels([trial.values[name] for trial in trials])
    if len(members) < 2 or len(members) >= len(trials):
        return None
    shares = _shares(members, ranks, weights)
    if not np.isfinite(shares[0]):
        return None
    tail = (1 - CONFIDENCE) / 2
    resampled = shares[1:][np.isfinite(shares[1:])]
    # A sample that holds agents twice explains more by chance, which the correction does not know of.
    excess = resampled.mean() - shares[0]
    low, high = np.quantile(resampled, [tail, 1 - tail]) - excess
    share, low, high = np.clip([shares[0], low, high], 0, 1)
    levels = tuple(_level([trials[i].values[name] for i in part], ranks[part]) for part in members)
    return Importance(name, float(share), float(low), float(high), levels)


def _level(values: list[Value], ranks: Floats) -> Level:
    ordered = sorted(values, key=_order)
    return Level(ordered[0], ordered[-1], len(values), float(ranks.mean()))


def _order(value: Value) -> tuple[bool, float, str]:
    """Numbers by size, then texts."""
    return (True, 0.0, value) if isinstance(value, str) else (False, float(value), "")


def _levels(values: list[Value]) -> list[Indices]:
    """Who has each value, or each quarter of many numbers, in order."""
    distinct = sorted(set(values), key=_order)
    numbers = not any(isinstance(value, str) for value in distinct)
    if numbers and len(distinct) > MAX_DISTINCT:
        columns = np.array([float(value) for value in values])
        edges = np.quantile(columns, np.arange(1, QUANTILES) / QUANTILES)
        places = np.searchsorted(edges, columns, side="left")
    else:
        places = np.array([distinct.index(value) for value in values])
    return [np.flatnonzero(places == place) for place in np.unique(places)]


def _ranks(scores: Floats, depths: Sequence[int]) -> Floats:
    """From 0 to 1 among those of like depth, equal scores sharing a rank."""
    ranks = np.empty(len(scores))
    for part in _strata(depths):
        _, places, counts = np.unique(scores[part], return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        ranks[part] = ((ends - counts / 2) / len(part))[places]
    return ranks


def _strata(depths: Sequence[int]) -> list[Indices]:
    """Agents of one depth, and of the next ones until they are STRATUM; too few at the end join those before."""
    order = np.array(depths)
    strata: list[Indices] = []
    waiting = np.array([], dtype=np.intp)
    for depth in np.unique(order):
        waiting = np.concatenate([waiting, np.flatnonzero(order == depth)])
        if len(waiting) >= STRATUM:
            strata.append(waiting)
            waiting = np.array([], dtype=np.intp)
    if len(waiting):
        strata.append(np.concatenate([strata.pop(), waiting]) if strata else waiting)
    return strata


def _weights(founders: Sequence[int], seed: int) -> Floats:
    """How often each agent counts: once in the first row, then in each of RESAMPLES as often as its founder's drawn.

    Returns [1 + RESAMPLES, agents].
    """
    names, places = np.unique(founders, return_inverse=True)
    drawn = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    return np.vstack([np.ones(len(places)), drawn[:, places]])


def _shares(members: list[Indices], ranks: Floats, weights: Floats) -> Floats:
    """The corrected correlation ratio under each row of weights, NaN where it cannot be told. [1 + RESAMPLES]"""
    belongs = np.zeros((len(ranks), len(members)))
    for level, part in enumerate(members):
        belongs[part, level] = 1
    counts, sums = weights @ belongs, weights @ (belongs * ranks[:, None])
    total, whole = weights.sum(axis=1), weights @ ranks
    levels = (counts > 0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.where(counts > 0, sums**2 / counts, 0).sum(axis=1) - whole**2 / total
        overall = weights @ ranks**2 - whole**2 / total
        ratio = np.where(overall > 1e-12, between / overall, np.nan)
        shares: Floats = 1 - (1 - ratio) * (total - 1) / np.where(total > levels, total - levels, np.nan)
    return shares
