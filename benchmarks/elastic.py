"""A pool that grows and shrinks, workers that come, are drained and are killed: is any agent lost or counted twice?

    python -m benchmarks.elastic --pods 30

A Podracer of its own trains CartPole-v1 for real. While it does, its pool goes from 2 to 8 to 1 through the REST API,
a second worker joins, a pod process and then that whole worker are killed with SIGKILL in the middle of their pods, a
third worker joins, and the one that trains is drained. Then every agent's record is rebuilt from the events alone: who
came from whom, which attempt trained it on which worker, how it ended, at which rank it entered, whom it displaced.
These records are compared with the database and with the exported JSON. Prints the table, and exits 1 where anything
differs.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg2

from benchmarks import elastic_database
from benchmarks.elastic_records import Check, checks, rebuilt
from tests.stack import REPOSITORY, Stack, wait_for
from webapp.embedded import registry

PLACES = 5
STRATEGIES = {"fresh": 0.3, "exploit": 0.3, "continue": 0.1, "crossover": 0.2, "rerun": 0.1}
PAGE = 1000
PATIENCE = 90.0
KILLS = 5
"""Tries to kill a pod process while it has a pod."""


def main() -> int:
    options = _parse()
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder) / "home", PODRACER_SLOTS="2") as stack:
        table = Elastic(stack, pods=options.pods, round_env_steps=options.round).play(whole=True)
    print_table(table)
    return 1 if any(check.wrong for check in table) else 0


class Elastic:
    """One tournament on a running Podracer, and all that happens to it."""

    def __init__(self, stack: Stack, *, pods: int, round_env_steps: int) -> None:
        self.stack, self.began = stack, time.monotonic()
        self.here = socket.gethostname()
        self.pools = [2]
        self.tournament = stack.tournament_start(
            name="elastic",
            env_id="CartPole-v1",
            algorithms=[{"name": "ppo", "search_space": {"learning_rate": {"loguniform": [1e-4, 3e-3]}}}],
            round={"env_steps": round_env_steps},
            stop={"pods": pods},
            pool={"size": self.pools[0]},
            leaderboard={"size": PLACES, "max_per_ancestor": 1.0, "eval_episodes": 8},
            generator={"strategies": STRATEGIES},
        )

    def play(self, *, whole: bool) -> list[Check]:
        """Do it all; not `whole`: with one worker less. Returns what came of it."""
        self._wait(lambda: self._training(self.here, 2), "two pods training")
        self._resize(8)
        with self._worker("host-b") as second:
            self._wait(lambda: self._training("host-b", 1), "a pod training on host-b")
            self._kill_pod_process()
            if not whole:
                self._drain(resume=True)
            lost = self._kill_worker(second, "host-b")
            self._resize(1, lost)
        with self._worker("host-c") if whole else contextlib.nullcontext():
            if whole:
                self._wait(lambda: self._online("host-c"), "host-c online")
                self._drain(resume=False)
            self._end()
        return self._table()

    def _end(self) -> None:
        ended = self.stack.wait_for_status(self.tournament, "FINISHED", "FAILED", "STOPPED", seconds=6 * PATIENCE)
        self._say(f"{ended['status']}: {ended['reason']}")
        self._wait(lambda: not self._active(), "the end of the last pods")

    # What happens

    def _resize(self, size: int, lost: Sequence[str] = ()) -> None:
        """lost: pods whose worker is gone, which first have to be missed"""
        smaller = size < self.pools[-1]
        self.stack.api("PATCH", f"/tournaments/{self.tournament}", {"pool_size": size})
        self._say(f"pool {self.pools[-1]} -> {size}")
        self.pools.append(size)
        for pod in lost:
            self._wait(lambda pod=pod: self._accounted(pod), "the event of a lost pod")
        if lost and not any(self._told("pod_retried", pod=pod) for pod in lost):
            raise TimeoutError("no pod was lost with its worker: each had ended before it was killed")
        # Fewer where no more pods are to be made.
        self._wait(lambda: 0 <= size - len(self._active()) <= (size if smaller else 0), f"{size} pods in the pool")

    @contextlib.contextmanager
    def _worker(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """Another worker, on a host of its own as far as anybody can see."""
        environment = {**self.stack.environment, "PODRACER_WORKER_NAME": name, "PODRACER_SLOTS": "2"}
        command = [sys.executable, "-m", "workers"]
        process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, start_new_session=True)
        self._say(f"worker {name} joins")
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)

    def _kill_pod_process(self) -> None:
        """In the middle of a pod: one that waits for its next pod when it is killed takes none with it."""
        before = self._retried(self.here)
        for _ in range(KILLS):
            training = self._wait(lambda: self._training(self.here, 2), "both slots training")
            held = {_attempt(pod) for pod in training}
            self.stack.kill_one("podracer_core.pod_process")
            self._say(f"a pod process of {self.here} is killed")
            self._wait(lambda held=held: self._left(held, before), "the event of the lost pod, or the end of both")
            if self._retried(self.here) > before:
                return
            self._say("it was between two pods")
        raise TimeoutError(f"none of {KILLS} killed processes had a pod")

    def _left(self, held: set[tuple[str, int]], before: int) -> bool:
        """Whether the pods that were running have all ended, or one was missed."""
        return self._retried(self.here) > before or not held & {_attempt(pod) for pod in self._running(self.here)}

    def _retried(self, worker: str) -> int:
        return sum(event["kind"] == "pod_retried" and event["data"]["worker"] == worker for event in self.events())

    def _kill_worker(self, process: subprocess.Popen[bytes], name: str) -> list[str]:
        """The pods that it trained."""
        lost = self._wait(lambda: self._training(name, 1), f"pods training on {name}")
        os.killpg(process.pid, signal.SIGKILL)
        self._say(f"worker {name} is killed with {len(lost)} pods")
        return [pod["id"] for pod in lost]

    def _drain(self, *, resume: bool) -> None:
        """Of the stack's own worker and host-c the one that trains; again where its pods ended of themselves."""
        while True:
            name = self._wait(self._trainer, "a pod training")["worker"]
            self.stack.api("POST", f"/workers/{name}/drain", {"now": True})
            self._say(f"worker {name} is drained")
            self._wait(lambda name=name: not self._running(name), f"nothing running on {name}")
            moved = self._told("pod_moved", worker=name)
            if resume or not moved:
                self.stack.api("POST", f"/workers/{name}/resume")
            if moved:
                return

    # What is seen

    def _pods(self) -> list[Any]:
        return list(self.stack.api("GET", f"/tournaments/{self.tournament}/pods?limit={PAGE}")["items"])

    def _active(self) -> list[Any]:
        return [pod for pod in self._pods() if pod["status"] in ("QUEUED", "RUNNING")]

    def _trainer(self) -> Any:
        """A pod in the middle of its round, but not on the worker that is to be killed."""
        running = (pod for pod in self._pods() if pod["status"] == "RUNNING" and pod["worker"] != "host-b")
        return next((pod for pod in running if pod["env_steps"] > 0), None)

    def _running(self, worker: str) -> list[Any]:
        return [pod for pod in self._pods() if pod["status"] == "RUNNING" and pod["worker"] == worker]

    def _training(self, worker: str, least: int) -> list[Any]:
        """The pods that `worker` runs, once `least` of them train."""
        running = self._running(worker)
        return running if sum(pod["env_steps"] > 0 for pod in running) >= least else []

    def _accounted(self, pod: str) -> bool:
        """Whether a pod was missed, or had ended just before its worker was killed."""
        ended = next(one["finished_at"] for one in self._pods() if one["id"] == pod)
        return ended is not None or self._told("pod_retried", pod=pod)

    def _online(self, name: str) -> bool:
        return any(worker["name"] == name for worker in self.stack.api("GET", "/workers")["workers"])

    def _told(self, kind: str, *, worker: str | None = None, pod: str | None = None) -> bool:
        return any(
            event["kind"] == kind and worker in (None, event["data"]["worker"]) and pod in (None, event["pod"])
            for event in self.events()
        )

    def events(self) -> list[Any]:
        """All, the eldest first."""
        found: list[Any] = []
        while True:
            page = self.stack.api("GET", f"/tournaments/{self.tournament}/events?limit={PAGE}&offset={len(found)}")
            found += page["items"]
            if len(found) >= page["count"]:
                return found[::-1]

    def _wait(self, condition: Callable[[], Any], what: str) -> Any:
        return wait_for(condition, PATIENCE, what, every=0.2)

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:5.1f} s  {text}", flush=True)

    def _table(self) -> list[Check]:
        with contextlib.closing(psycopg2.connect(registry.database_url(self.stack.home))) as connection:
            database = elastic_database.read(connection.cursor(), int(self.tournament))
        export = json.loads(self.stack.raw("GET", f"/tournaments/{self.tournament}/export"))
        return checks(rebuilt(self.events()), database, export, pools=self.pools, places=PLACES)


def _attempt(pod: Any) -> tuple[str, int]:
    return pod["id"], pod["attempt"]


def print_table(table: list[Check]) -> None:
    """As Markdown."""
    print("\n| what | by events | database | export | verdict |\n| --- | --- | --- | --- | --- |")
    for check in table:
        columns = (check.what, check.told, check.stored, check.exported, check.wrong or "same")
        print(f"| {' | '.join(f'{one:,}' if isinstance(one, int) else str(one) for one in columns)} |")
    wrong = sum(bool(check.wrong) for check in table)
    print(f"\n{'nothing lost, nothing counted twice' if not wrong else f'{wrong} differences'}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=30, help="finished, after which the tournament ends")
    parser.add_argument("--round", type=int, default=60_000, help="env steps of a pod")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
