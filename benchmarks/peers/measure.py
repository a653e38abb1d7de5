"""Runs the participants in turns and keeps every answer, as it comes, in a file of JSON lines.

The first line of a file says what was asked for, when, of what versions, on which machine; every other is one run.
"""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from benchmarks.peers.job import Answer, Job
from benchmarks.peers.machine import commit, machine
from benchmarks.peers.venvs import (
    PARTICIPANTS,
    REPOSITORY,
    NotInstalledError,
    Participant,
    python_of,
    shortened,
    versions,
)
from benchmarks.peers.words import number
from podracer_core.pod_process import HUGE_PAGES

WALL_FACTOR, WALL_EXTRA = 3, 120
"""A run is ended after its seconds times the factor, for evaluations, plus the extra, for imports and compilation."""

PAIR = "side-by-side"

Known = Mapping[str, Participant]

Make = Callable[[Participant, int], Job]
"""The job of a participant in a round, counted from 1."""


def turns(names: Sequence[str], rounds: int) -> list[tuple[int, str]]:
    """(round, name): everyone once a round, another first each time, so that nobody always follows the same one."""
    return [
        (round_ + 1, names[(place + round_) % len(names)]) for round_ in range(rounds) for place in range(len(names))
    ]


def measure(names: Sequence[str], rounds: int, make: Make, *, home: Path, out: Path, minutes: float) -> Path:
    """Returns the file with the results. No further round begins once `minutes` are over."""
    pythons, broken = pythons_of(PARTICIPANTS, names, home)
    first = make(PARTICIPANTS[names[0]], 1)
    out.mkdir(parents=True, exist_ok=True)
    path = out / file_name(first)
    deadline = time.monotonic() + 60 * minutes
    with path.open("x") as file:
        write(file, header(PARTICIPANTS, pythons, broken))
        for round_, name in turns([name for name in names if name in pythons], rounds):
            if time.monotonic() > deadline:
                print(f"{minutes:g} minutes are over; round {round_} is left out", file=sys.stderr)
                break
            participant = PARTICIPANTS[name]
            job = make(participant, round_)
            record = {"participant": name, "round": round_, "job": json.loads(job.dump())}
            answer = (run_pair if job.measurement == PAIR else run)(participant, pythons[name], job)
            write(file, record | answer)
            print(f"{name:15} round {round_}: {told(answer)}", flush=True)
    return path


def run(participant: Participant, python: Path, job: Job) -> Answer:
    """What the runner answers, or {"failed": why}. Never raises for what goes wrong in there."""
    command = [str(python), "-m", f"benchmarks.peers.runners.{participant.runner}", job.dump()]
    limit = None if job.measurement == "return-at-steps" else WALL_FACTOR * (job.cap or job.seconds) + WALL_EXTRA
    with tempfile.TemporaryDirectory() as folder:  # where libraries leave their logs
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(job.threads),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return {"failed": f"no answer within {limit:.0f} s"}
        finally:
            _end(child)
    if child.returncode:
        return {"failed": shortened(errors)}
    try:
        found: Answer = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": "its last line is not an answer"}
    return found


def run_pair(participant: Participant, python: Path, job: Job) -> Answer:
    """Throughput of one, then of two at once: {"alone", "env_steps_per_second" of both together, "share"}."""
    single = dataclasses.replace(job, measurement="throughput")
    alone = run(participant, python, single)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda seed: run(participant, python, dataclasses.replace(single, seed=seed)), (1, 2)))
    for answer in (alone, *both):
        if "failed" in answer:
            return answer
    together = sum(answer["env_steps_per_second"] for answer in both)
    one = alone["env_steps_per_second"]
    return {"alone": one, "env_steps_per_second": round(together, 1), "share": round(together / one, 4)}


def environment(threads: int) -> dict[str, str]:
    """Every library's arithmetic on that many threads, JAX's too: as of jaxlib 0.10, XLA heeds NPROC, and no flag, when
    it makes its pool. Everybody's heap is of huge pages, as pod processes have theirs."""
    counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    flags = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()} intra_op_parallelism_threads={threads}"
    rest = {
        "PYTHONPATH": str(REPOSITORY),
        "XLA_FLAGS": flags,
        "NPROC": str(threads),
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONHASHSEED": "0",
    }
    return dict(os.environ) | counts | rest | HUGE_PAGES


def told(answer: Answer) -> str:
    """One line for the person at the terminal."""
    if "failed" in answer:
        return f"failed: {answer['failed']}"
    if "score" in answer:
        reached = "reached" if answer["reached_target"] else "not reached"
        took = f"{answer['seconds']:8.2f} s  {answer['env_steps']:>9,} env steps"
        return f"{took}  score {number(answer['score'])}  {reached}"
    return "  ".join(f"{name} {value:,.1f}" for name, value in answer.items() if isinstance(value, int | float))


def pythons_of(known: Known, names: Sequence[str], home: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Interpreters of those that install, and why the others do not."""
    pythons, broken = {}, {}
    for name in names:
        try:
            pythons[name] = python_of(known[name], home)
        except NotInstalledError as error:
            broken[name] = str(error)
            print(f"{name} does not install: {error}", file=sys.stderr, flush=True)
    return pythons, broken


def header(known: Known, pythons: dict[str, Path], broken: dict[str, str]) -> dict[str, Any]:
    return {
        "command": " ".join(["python -m benchmarks.peers", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(REPOSITORY),
        "machine": machine(),
        "versions": {name: versions(known[name], python) for name, python in pythons.items()},
        "not_installed": broken,
    }


def file_name(job: Job) -> str:
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"{moment}-{job.measurement}-{job.env_id}-{job.algorithm}.jsonl"


def write(file: IO[str], record: dict[str, Any]) -> None:
    file.write(json.dumps(record, allow_nan=False) + "\n")
    file.flush()


def _end(child: "subprocess.Popen[str]") -> None:
    """With all that it started: some peers leave processes behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
