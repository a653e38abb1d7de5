"""Runs the searches in turns: `python -m benchmarks.peers population`.

One file of results for each environment, which a later call goes on with: what is there already is not run again, and
what failed is. A round is one seed of everyone in every environment, so that stopping anywhere leaves them balanced.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.peers.contests import SEARCHES
from benchmarks.peers.job import Job
from benchmarks.peers.machine import commit, machine
from benchmarks.peers.measure import file_name, header, pythons_of, run, told, turns, write
from benchmarks.peers.results import read_file
from benchmarks.peers.venvs import REPOSITORY, SEARCHERS, Participant


@dataclass(frozen=True)
class Asked:
    """names: of SEARCHERS; seeds: how many; target: the one of SEARCHES, with its scores to compare, unless said"""

    environments: Sequence[str]
    names: Sequence[str]
    seeds: int
    cap: float
    slots: int = 2
    target: float | None = None

    def job(self, participant: Participant, env_id: str, seed: int) -> Job:
        search = SEARCHES[env_id]
        return Job(
            "population",
            env_id,
            seed=seed,
            target=search.target if self.target is None else self.target,
            cap=self.cap,
            env_steps=search.env_steps if self.target is None else None,
            slots=self.slots,
            mode="" if participant.requirements else participant.name,
        )


def measure_populations(asked: Asked, *, home: Path, out: Path, minutes: float, fresh: bool = False) -> list[Path]:
    """The files with the results. No further seed begins once `minutes` are over; `fresh`: begin new files."""
    pythons, broken = pythons_of(SEARCHERS, asked.names, home)
    out.mkdir(parents=True, exist_ok=True)
    files = {env_id: _file(asked, env_id, out, fresh=fresh) for env_id in asked.environments}
    for path in files.values():
        if not path.exists():
            write_line(path, header(SEARCHERS, pythons, broken))
    deadline = monotonic() + 60 * minutes
    names = [name for name in asked.names if name in pythons]
    begun: set[tuple[int, str]] = set()
    for seed, env_id, name in order(names, asked.environments, asked.seeds):
        participant, path = SEARCHERS[name], files[env_id]
        if (name, seed) in done(path):
            continue
        if monotonic() > deadline and (seed, env_id) not in begun:
            print(f"{minutes:g} minutes are over; seed {seed} on {env_id} is left out, and what follows")
            break
        begun.add((seed, env_id))
        job = asked.job(participant, env_id, seed)
        record = {"participant": name, "round": seed, "job": json.loads(job.dump()), **_circumstances()}
        answer = run(participant, pythons[name], job)
        write_line(path, record | answer)
        print(f"{env_id:15} {name:14} seed {seed}: {told(answer)}", flush=True)
    return list(files.values())


def order(names: Sequence[str], environments: Sequence[str], seeds: int) -> list[tuple[int, str, str]]:
    """(seed, environment, participant): a seed of everyone everywhere before the next."""
    everyone = turns(names, seeds)
    return [
        (seed, env_id, name)
        for seed in range(1, seeds + 1)
        for env_id in environments
        for round_, name in everyone
        if round_ == seed
    ]


def done(path: Path) -> set[tuple[str, int]]:
    """What has an answer."""
    file = read_file(path)
    runs: Sequence[dict[str, Any]] = file.runs if file else ()
    return {(run["participant"], run["round"]) for run in runs if "failed" not in run}


def write_line(path: Path, record: dict[str, Any]) -> None:
    """Ends a line that was cut off first, which is read no further than that."""
    if path.exists() and (content := path.read_bytes()) and not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])
    with path.open("a") as file:
        write(file, record)


def _file(asked: Asked, env_id: str, out: Path, *, fresh: bool) -> Path:
    """The newest of that environment that was asked the same, or a new one."""
    job = asked.job(SEARCHERS[asked.names[0]], env_id, 1)
    for path in sorted(out.glob(f"*-population-{env_id}-{job.algorithm}.jsonl"), reverse=True):
        file = read_file(path)
        if file and not fresh and all(_same(run["job"], job) for run in file.runs):
            return path
    return out / file_name(job)


def _same(known: dict[str, Any], job: Job) -> bool:
    names = ("target", "cap", "env_steps", "slots", "threads")
    return all(known[name] == getattr(job, name) for name in names)


def _circumstances() -> dict[str, Any]:
    """A file may hold runs of several days."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(REPOSITORY),
        "load_average": machine()["load_average"],
    }
