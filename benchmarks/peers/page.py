"""docs/benchmarks.md and its pictures: a pure function of what `measure` has kept."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import population_page
from benchmarks.peers.charts import learning_curves
from benchmarks.peers.contests import BODIES, TARGETS
from benchmarks.peers.population_results import races
from benchmarks.peers.results import Contest, Results, Summary, contests, read
from benchmarks.peers.targets import Verdict, verdicts
from benchmarks.peers.venvs import PARTICIPANTS, SEARCHERS
from benchmarks.peers.words import factor, number

INTRODUCTION = """\
# Benchmarks

Podracer beside other libraries, on one machine, in turns. This page is written by `python -m benchmarks.peers table`
from the raw results in `benchmarks/results/`; change nothing here by hand.

How it is measured:

- Every library has a virtual environment of its own, made from PyPI, and every run is a process of its own. The
  participants take turns, another one first in each round, and medians are compared within one file of results. A file
  that says several commits was gone on with later: what it has of one commit did not take turns with that of another.
- Same environment, same number of threads for arithmetic. To a target score, each side uses its own best-known
  settings: Podracer the catalogue's, Stable-Baselines3, SBX and the plain loop
  [RL Baselines3 Zoo's](https://github.com/DLR-RM/rl-baselines3-zoo/tree/master/hyperparams), the others those of their
  own examples (see `benchmarks/peers/runners/`).
- The target counts as reached when 32 deterministic episodes meet it and 100 further ones confirm it. All are looked
  at by the same rule (`podracer_core/target_watch.py`), as soon as training promises it. Podracer pays for these
  evaluations on its own clock; for the others the clock stands still meanwhile. Imports count for nobody, compilation
  on the way does. A run that missed the target stands behind those that reached it, with the seconds that it trained:
  "> 120" was stopped then, or had used up the env steps of its settings.
- Throughput of PPO is at equal epochs, minibatch rows and network (two layers of 64), after a first iteration that is
  not counted. Podracer normalises observations and rewards there as it does in training; the others do not.
- Gradient updates include sampling from the replay buffer: batch 256, two layers of 256. Podracer rounds the factors of
  wide layers' products to bfloat16 where the processor has AMX, its default, and returns were no lower for
  it ([where measured](tuning.md#rounded-products)); the others multiply in float32, which is theirs.

To repeat it on your machine, with nothing else running (`--help` tells the rest):

```sh
.venv/bin/python -m benchmarks.peers install
.venv/bin/python -m benchmarks.peers run to-target --env CartPole-v1 --peers sb3 sbx --seeds 5 --cap 120
.venv/bin/python -m benchmarks.peers population --seeds 5 --cap 300
.venv/bin/python -m benchmarks.peers table
```

`make bench` runs the short ones and leaves this page alone.
"""

HEADINGS = {
    "to-target": ("Wall clock to a target score", "seconds of training"),
    "throughput": ("PPO training", "env steps/s"),
    "updates": ("Gradient updates", "updates/s"),
    "side-by-side": ("Two pods at once, PPO", "env steps/s of both"),
    "stepping": ("Stepping alone, under random actions", "env steps/s"),
    "return-at-steps": ("Return at equal env steps", "mean return"),
}


def write_page(results: Path, page: Path) -> None:
    files = read(results)
    known = contests(files)
    pictures = page.with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)
    for contest in known:
        if contest.measurement == "to-target":
            (pictures / f"{contest.env_id}.svg").write_text(learning_curves(contest, TARGETS.get(contest.env_id)))
    page.write_text(page_text(files, pictures.name))


def page_text(files: Sequence[Results], pictures: str) -> str:
    """pictures: the folder, beside the page, that the learning curves are in."""
    known, searches = contests(files), races(files)
    parts = [INTRODUCTION, _targets([*verdicts(known), *population_page.verdicts(searches)])]
    for measurement in HEADINGS:
        parts.append(_measurement(measurement, known, pictures))
    parts.append(population_page.section(searches))
    return "\n".join([*parts, _peers(files), _runs(files)])


def _targets(found: Sequence[Verdict]) -> str:
    rows = [(row.what, row.target, row.measured or "–", f"**{row.verdict}**") for row in found]
    return "## What it must show\n\n" + _table(("what", "target", "measured", "verdict"), rows)


def _measurement(measurement: str, known: Sequence[Contest], pictures: str) -> str:
    title, unit = HEADINGS[measurement]
    wanted = list(TARGETS) if measurement == "to-target" else ["CartPole-v1", *BODIES]
    order = {env_id: place for place, env_id in enumerate(wanted)}
    found = sorted(
        (contest for contest in known if contest.measurement == measurement),
        key=lambda contest: (order.get(contest.env_id, len(order)), contest.env_id, contest.algorithm),
    )
    if not found:
        return f"## {title}\n\nNot measured yet.\n"
    parts = [f"## {title}\n"]
    for contest in found:
        parts.append(f"### {contest.env_id}{f', {contest.algorithm.upper()}' if contest.algorithm else ''}\n")
        parts.append(_contest(contest, unit))
        if measurement == "to-target":
            parts.append(
                f"![Training return of each participant over its wall clock, median and range of the seeds]"
                f"({pictures}/{contest.env_id}.svg)\n"
            )
    return "\n".join(parts)


def _contest(contest: Contest, unit: str) -> str:
    to_target = contest.measurement == "to-target"
    head = ["", "algorithm", *(["seeds reached"] if to_target else ["runs"]), f"{unit}, median", "least … most"]
    if contest.measurement in ("to-target", "return-at-steps"):
        head.append("env steps, median")
    if contest.measurement != "return-at-steps":
        head.append("Podracer against it")
    everyone = [(contest.ours, None), *contest.peers]
    everyone.sort(key=lambda pair: _order(pair[0], contest.measurement))
    return _table(head, [_row(contest, summary, ratio, len(head)) for summary, ratio in everyone])


def _order(summary: Summary, measurement: str) -> float:
    """Best first; those that trained in vain behind all others."""
    if summary.median is None:
        return math.inf
    return summary.median + 1e9 * summary.at_least if measurement == "to-target" else -summary.median


def _row(contest: Contest, summary: Summary, ratio: float | None, columns: int) -> list[str]:
    title = PARTICIPANTS[summary.participant].title
    algorithms = sorted({run["job"]["algorithm"].upper() for run in summary.answers})
    count = f"{summary.reached} of {summary.runs}" if contest.measurement == "to-target" else str(summary.runs)
    row = [f"**{title}**" if summary.participant == "ours" else title, ", ".join(algorithms), count]
    row += [number(summary.median, summary.at_least), f"{number(summary.low)} … {number(summary.high)}"]
    if contest.measurement in ("to-target", "return-at-steps"):
        row.append(_steps(summary))
    if contest.measurement != "return-at-steps":
        row.append("" if summary.participant == "ours" else factor(ratio, summary.at_least))
    if summary.failed:
        row[3] += f" (failed: {summary.failed})"
    return row[:columns]


def _steps(summary: Summary) -> str:
    steps = [run["env_steps"] for run in summary.answers]
    return f"{statistics.median_low(steps):,}" if steps else "–"


def _peers(files: Sequence[Results]) -> str:
    """Versions as last measured; why the others are not here."""
    versions: dict[str, dict[str, str]] = {}
    broken: dict[str, str] = {}
    for file in files:
        versions |= file.header["versions"]
        broken |= file.header["not_installed"]
        for name in file.header["versions"]:
            broken.pop(name, None)
    rows = []
    for name, participant in (PARTICIPANTS | SEARCHERS).items():
        if name in broken:
            told = f"does not install: `{broken[name]}`"
        elif name in versions:
            told = ", ".join(f"{package} {version}" for package, version in versions[name].items())
        else:
            told = "not measured yet"
        rows.append((participant.title, told))
    return "## Participants\n\n" + _table(("", "versions"), rows)


def _runs(files: Sequence[Results]) -> str:
    if not files:
        return "## Runs\n\nNone yet.\n"
    rows = []
    for file in files:
        machine = file.header["machine"]
        rows.append(
            (
                file.header["date"],
                f"`{file.header['command']}`",
                ", ".join(_commits(file)),
                f"{machine['cores']} cores, {machine['processor']}, {machine['memory_gib']:g} GiB, {machine['system']}",
                f"{machine['load_average']:g}",
                f"[{len(file.runs)} runs](../benchmarks/results/{file.name}.jsonl)",
            )
        )
    head = ("date", "command", "commit", "machine", "load at start", "raw results")
    return "## Runs\n\n" + _table(head, rows)


def _commits(file: Results) -> list[str]:
    """Of its runs, in order; those of a file that was made in one go are the header's."""
    return list(dict.fromkeys(run.get("commit", file.header["commit"]) for run in file.runs))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines) + "\n"
