"""What the searches' results say: pure functions of the files. Resampling draws the same for the same runs."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.peers.results import Results, Summary, summarise_runs
from benchmarks.peers.venvs import SEARCHERS

OURS = "asynchronous"
RESAMPLES = 2000
WITHIN = 1.05
"""A score counts as one after N env steps when it came after at most so many times N: agents are looked at between
updates, in slots that do not wait for each other."""

Run = dict[str, Any]


@dataclass(frozen=True)
class Interval:
    """value, with its 95 % bootstrap interval over the seeds; one seed has none, low and high are infinite then"""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Equal:
    """Scores at equal env steps: the most, up to the job's, that all runs of both sides made.

    difference: Podracer's mean less theirs
    """

    env_steps: int
    ours: Interval
    theirs: Interval
    difference: Interval


@dataclass(frozen=True)
class Row:
    """One participant in one environment.

    ratio: its median seconds over Podracer's, None where Podracer missed its target; at least so much where
        summary.at_least
    busy: median share of slot time, None without runs
    equal: None for Podracer, and where there are no scores
    """

    summary: Summary
    ratio: Interval | None
    busy: float | None
    equal: Equal | None


@dataclass(frozen=True)
class Race:
    """All that were measured in one environment, Podracer first. cap: seconds"""

    env_id: str
    target: float
    cap: float
    slots: int
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows if row.summary.participant == name), None)


def races(files: Sequence[Results]) -> list[Race]:
    """Of each environment and target Podracer's asynchronous mode in the newest file that has it.

    Another search that was measured earlier keeps its place, compared with Podracer as it was in that earlier file.
    """
    by_target: dict[tuple[str, float], list[list[Run]]] = {}
    for file in files:
        runs = latest(file.runs)
        if any(run["participant"] == OURS for run in runs):
            job = runs[0]["job"]
            by_target.setdefault((job["env_id"], job["target"]), []).append(runs)
    return [_race(found) for found in by_target.values()]


def latest(runs: Sequence[Run]) -> list[Run]:
    """Searches only, and of a run that was tried again the last try."""
    tries = {(run["participant"], run["round"]): run for run in runs if run["job"]["measurement"] == "population"}
    return list(tries.values())


def _race(files: Sequence[Sequence[Run]]) -> Race:
    """files: their runs, the newest last"""
    newest: dict[str, Sequence[Run]] = {run["participant"]: runs for runs in files for run in runs}
    rows = [_row(name, _of(name, newest[name]), _of(OURS, newest[name])) for name in SEARCHERS if name in newest]
    job = files[-1][0]["job"]
    return Race(job["env_id"], job["target"], job["cap"], job["slots"], tuple(rows))


def _of(name: str, runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run["participant"] == name]


def _row(name: str, runs: Sequence[Run], ours: Sequence[Run]) -> Row:
    summary = summarise_runs(name, runs)
    busy = statistics.median(run["busy"] for run in summary.answers) if summary.answers else None
    if name == OURS:
        return Row(summary, None, busy, None)
    ours = summarise_runs(OURS, ours).answers
    return Row(summary, time_ratio(ours, summary.answers), busy, equal_steps(ours, summary.answers))


def time_ratio(ours: Sequence[Run], theirs: Sequence[Run]) -> Interval | None:
    """Of median seconds, theirs over ours; a run that missed its target counts as the seconds that it trained."""
    if not ours or not theirs or summarise_runs(OURS, ours).at_least:
        return None

    def ratio(one: Sequence[Run], other: Sequence[Run]) -> float:
        return median_seconds(other) / median_seconds(one)

    return bootstrap(ratio, ours, theirs)


def median_seconds(runs: Sequence[Run]) -> float:
    median = summarise_runs("", runs).median
    assert median is not None
    return median


def equal_steps(ours: Sequence[Run], theirs: Sequence[Run]) -> Equal | None:
    if not ours or not theirs:
        return None
    runs = (*ours, *theirs)
    if any(run["job"]["env_steps"] is None for run in runs):
        return None
    env_steps = min(run["job"]["env_steps"] for run in runs)
    env_steps = min(env_steps, *(run["total_env_steps"] for run in runs))
    one, other = ([score_at(run, env_steps) for run in side] for side in (ours, theirs))
    if None in one or None in other:
        return None

    def mean(scores: Sequence[Any]) -> float:
        return statistics.fmean(scores)

    def difference(first: Sequence[Any], second: Sequence[Any]) -> float:
        return mean(first) - mean(second)

    return Equal(env_steps, bootstrap(mean, one), bootstrap(mean, other), bootstrap(difference, one, other))


def score_at(run: Run, env_steps: int) -> float | None:
    """Of its latest look by then; None before the first."""
    scores = [score for _, steps, score in run["looks"] if steps <= WITHIN * env_steps]
    return float(scores[-1]) if scores else None


def bootstrap(statistic: Callable[..., float], *samples: Sequence[Any]) -> Interval:
    """The statistic of the samples, with the interval of its values over samples drawn from each with replacement."""
    value = statistic(*samples)
    if min(map(len, samples)) < 2:
        return Interval(value, -math.inf, math.inf)
    rng = Random(0)
    drawn = sorted(statistic(*(rng.choices(sample, k=len(sample)) for sample in samples)) for _ in range(RESAMPLES))
    tail = round(0.025 * RESAMPLES)
    return Interval(value, drawn[tail], drawn[-tail - 1])
