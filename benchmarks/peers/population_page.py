"""The searches' part of docs/benchmarks.md: their tables, and whether they show what Podracer has set itself."""

import math
from collections.abc import Sequence

from benchmarks.peers.contests import SEARCHES
from benchmarks.peers.population_results import OURS, Equal, Interval, Race, Row
from benchmarks.peers.targets import HOLDS, MISSES, NOT_MEASURED, Verdict
from benchmarks.peers.venvs import SEARCHERS
from benchmarks.peers.words import factor, number

TITLE = "## Tournament against other searches"
ENOUGH_SEEDS = 5
LEAST_BUSY = 0.98
LEAST_RATIO = {"tune": 5.0, "evolution": 5.0}
"""How many times as fast as these; as fast as everyone else."""

OWN = ("asynchronous", "generational", "random_search")
"""Podracer's modes."""

NAMED = (*OWN, *LEAST_RATIO)
"""Whom the targets name. Others are compared as well, and may be missing."""

INTRODUCTION = """\
Who finds an agent that reaches the target first, hyperparameters unknown? Everyone has the same slots of one thread
each, the same environments, networks of two layers of 64 to begin with and the same ranges to search: learning rate,
clipping and entropy bonus (`SEARCHES` in `benchmarks/peers/contests.py`); everything else is each side's own best-known
setting, with its source in `benchmarks/peers/runners/`.

- The score is 20 deterministic episodes of one agent, everywhere. Peers reach the target with the first 20 that meet
  it, as soon as training promises it, every 10 s in any case, and these evaluations are not on their clock; those that
  their search itself needs are. Podracer's tournament looks by itself, with 20 episodes and 100 more that confirm, and
  pays for them. It runs without a server (`podracer_core tournament`), and its pods' start counts, imports included.
- A run that missed the target counts as the seconds that it trained: "> 300" was stopped then. How many times as long
  as Podracer's asynchronous tournament each took is the ratio of medians, with its 95 % bootstrap interval over seeds.
- Score at equal env steps, over all agents: for peers the best look so far, for Podracer 20 fresh episodes of the agent
  that was best by its own evaluations then, in a tournament of its own that ends with these env steps and has eight
  rounds of training in them. Where a peer's time was up before, both are compared where that was.
- On the way to a target Podracer's agents train in the catalogue's rounds, of which they may have any number; those of
  random search train once, for as long as the catalogue trains one agent. A round ends when the target is reached.
- Slot time: the share in which slots trained or evaluated, until the target. AgileRL has one process, so half at most.
"""


def section(races: Sequence[Race]) -> str:
    if not races:
        return f"{TITLE}\n\nNot measured yet.\n"
    order = list(SEARCHES)
    shown = sorted(races, key=lambda race: (order.index(race.env_id), race.target))
    return "\n".join([f"{TITLE}\n", INTRODUCTION, *map(_race, shown)])


def _race(race: Race) -> str:
    head = [
        "",
        "seeds reached",
        "seconds, median",
        "least … most",
        "env steps, median",
        "times as long",
        "slot time",
        "score at equal env steps",
        "Podracer's there",
        "difference",
    ]
    rows = [_cells(race, row) for row in sorted(race.rows, key=_order)]
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    title = f"### {race.env_id} to {race.target:g}, {race.slots} slots, {race.cap:g} s at most"
    return f"{title}\n\n{table}\n"


def _order(row: Row) -> tuple[bool, float]:
    summary = row.summary
    return summary.at_least or summary.median is None, summary.median or math.inf


def _cells(race: Race, row: Row) -> list[str]:
    summary = row.summary
    title = SEARCHERS[summary.participant].title
    steps = sorted(run["env_steps"] for run in summary.answers)
    cells = [
        f"**{title}**" if summary.participant == OURS else title,
        reached(race, row),
        number(summary.median, summary.at_least),
        f"{number(summary.low)} … {number(summary.high)}",
        f"{steps[(len(steps) - 1) // 2]:,}" if steps else "–",
        "" if summary.participant == OURS else _ratio(row),
        "–" if row.busy is None else f"{row.busy:.0%}",
        *_equal(row.equal),
    ]
    if summary.failed:
        cells[1] += f" (failed: {summary.failed})"
    return [cell.replace("|", "/") for cell in cells]


def reached(race: Race, row: Row) -> str:
    """How many of the seeds, and what became of the others."""
    summary = row.summary
    missed = len(summary.answers) - summary.reached
    text = f"{summary.reached} of {summary.runs}"
    return f"{text}; not within {race.cap:g} s in {missed}" if missed else text


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "–"
    text = factor(row.ratio.value, row.summary.at_least)
    return text if math.isinf(row.ratio.low) else f"{text} ({row.ratio.low:.1f} to {row.ratio.high:.1f})"


def _equal(equal: Equal | None) -> list[str]:
    if equal is None:
        return ["", "", ""]
    return [f"{_interval(equal.theirs)} at {equal.env_steps:,}", _interval(equal.ours), _interval(equal.difference)]


def _interval(found: Interval) -> str:
    value = f"{found.value:,.0f}"
    return f"{value} (one seed)" if math.isinf(found.low) else f"{value} ({found.low:,.0f} to {found.high:,.0f})"


# What it must show


def verdicts(races: Sequence[Race]) -> list[Verdict]:
    found = {(race.env_id, race.target): race for race in races}
    near = {env_id: found.get((env_id, search.target)) for env_id, search in SEARCHES.items()}
    far = {env_id: search.far_target for env_id, search in SEARCHES.items() if search.far_target is not None}
    rows = [_faster(race, env_id, SEARCHES[env_id].target) for env_id, race in near.items()]
    rows += [_faster(found.get((env_id, target)), env_id, target, OWN) for env_id, target in far.items()]
    scores = _scores([race for race in near.values() if race])
    return [*rows, scores, *(_busy(found.get((env_id, target)), env_id) for env_id, target in far.items())]


def _faster(race: Race | None, env_id: str, target: float, among: Sequence[str] = NAMED) -> Verdict:
    own = among == OWN
    what = f"{env_id}: tournament to {target:g} against {'our own' if own else 'other'} searches, 5 seeds or more"
    wanted = "ahead of every one" if own else "ahead of every one, ≥ 5 x faster than Ray Tune PBT and AgileRL"
    ours = race.row(OURS) if race else None
    if race is None or ours is None:
        return Verdict(what, wanted, "", NOT_MEASURED)
    others = [row for row in race.rows if row is not ours]
    measured = "; ".join([_told(race, ours), *(f"{_ratio(row)} {SEARCHERS[_name(row)].title}" for row in others)])
    if not _complete(race, among):
        return Verdict(what, wanted, measured, NOT_MEASURED)
    ratios = [(row, LEAST_RATIO.get(_name(row), 1.0)) for row in others]
    if ours.summary.reached < ours.summary.runs:
        return Verdict(what, wanted, measured, MISSES)
    short = [row for row, least in ratios if row.ratio is None or row.ratio.value < least]
    if short and all(row.ratio is not None and row.summary.at_least for row in short):
        return Verdict(what, wanted, measured, NOT_MEASURED)  # stopped before that could be said
    return Verdict(what, wanted, measured, MISSES if short else HOLDS)


def _told(race: Race, row: Row) -> str:
    return f"{number(row.summary.median, row.summary.at_least)} s, {reached(race, row)} seeds"


def _name(row: Row) -> str:
    return row.summary.participant


def _complete(race: Race, among: Sequence[str] = NAMED) -> bool:
    """Everyone that the target names, with seeds enough."""
    return all((row := race.row(name)) and len(row.summary.answers) >= ENOUGH_SEEDS for name in among)


def _scores(races: Sequence[Race]) -> Verdict:
    """Worse, or better, where the difference's whole interval is."""
    what = "Tournament's score at equal env steps against Ray Tune PBT, AgileRL and our own searches"
    wanted = "no worse on any, better on most"
    equals = [row.equal for race in races for row in race.rows if row.equal and _name(row) in NAMED]
    if not equals:
        return Verdict(what, wanted, "", NOT_MEASURED)
    better = sum(equal.difference.low > 0 for equal in equals)
    worse = sum(equal.difference.high < 0 for equal in equals)
    measured = f"of {len(equals)} comparisons better in {better}, worse in {worse}"
    if len(races) < len(SEARCHES) or not all(map(_complete, races)):
        return Verdict(what, wanted, measured, NOT_MEASURED)
    return Verdict(what, wanted, measured, HOLDS if not worse and better > len(equals) / 2 else MISSES)


def _busy(race: Race | None, env_id: str) -> Verdict:
    what = f"{env_id}: slot time that a tournament trains or evaluates, rounds of 10 s or more"
    wanted = f"≥ {LEAST_BUSY:.0%}"
    row = race.row(OURS) if race else None
    if row is None or row.busy is None:
        return Verdict(what, wanted, "", NOT_MEASURED)
    return Verdict(what, wanted, f"{row.busy:.1%}", HOLDS if row.busy >= LEAST_BUSY else MISSES)
