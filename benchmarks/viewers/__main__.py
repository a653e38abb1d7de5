"""Many viewers of one tournament whose pods all report: how late each sees each point, and whether all end up alike.

    python -m benchmarks.viewers --viewers 200 --pods 32 --rate 10 --seconds 60

A whole Podracer is started as `make run` does. Its pods run in real workers; only their processes are replaced, by ones
that say points and train nothing (benchmarks.viewers.pods). They end, are ranked and replaced, and some are lost.
Each viewer is a person who has signed in, with a WebSocket and a Python twin of the page's store
(benchmarks.viewers.store); one reads nothing for `--stall` seconds. A further one is the page itself, in Chromium.

Delays are of each point at each viewer who reads, from leaving the pod to being applied. In the end the tournament is
stopped and what each viewer knows is compared with the database. Viewers and pods share the machine with the server;
their CPU time is printed, so that one sees who was short of it.

Exits 1 when the 95th percentile of the delays is above `--limit`, memory grew, points were missed, or anybody's final
state differs from the database.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.page_latency import sign_in_link
from benchmarks.viewers import report
from benchmarks.viewers.comparison import differences, state_in_database
from benchmarks.viewers.crowd import session_cookie
from benchmarks.viewers.machine import Memory, cpu_seconds, service_pids
from benchmarks.viewers.page import RealPage
from tests.stack import REPOSITORY, Stack, wait_for

CROWDS = 2
"""Processes that the viewers without a screen are shared out among: one alone would be late itself."""

WARM_SECONDS = 10.0
"""Of all viewers before the clock starts."""

TAIL_SECONDS = 5.0
"""For which pods go on once the stalled viewer reads again."""

SETTLE_SECONDS = 30.0


def main() -> int:
    options = _parse()
    # Whoever ends it by a signal leaves nothing running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        faults = measure(Path(folder), options)
    for fault in faults:
        print(f"missed: {fault}")
    return 1 if faults else 0


def measure(folder: Path, options: argparse.Namespace) -> list[str]:
    """What does not hold."""
    with ExitStack() as running:
        stack = running.enter_context(Stack(folder / "home", PODRACER_SLOTS="1"))
        identity = _tournament(stack, options)
        cookies = _people(stack, options.viewers)
        pids = service_pids(stack.home)
        pids |= {f"pods {i}": pid for i, pid in enumerate(running.enter_context(_pods(stack, options)))}
        path = f"/ws/tournaments/{identity}/"
        order, crowds = running.enter_context(_crowds(stack, path, cookies))
        pids |= {f"viewers {i}": pid for i, pid in enumerate(crowds)}
        page = RealPage(sign_in_link(stack), f"{stack.url}/tournaments/{identity}/") if options.page else None
        if page:
            page.start()
            running.callback(page.close)
            if not page.ready.wait(90):
                return ["Chromium did not show the page"]
            pids["Chromium"] = page.pid
        order(order="watch")
        wait_for(lambda: _running(stack, identity) == options.pods, 60, "every pod running")
        time.sleep(WARM_SECONDS)
        faults = _measure(options, order, page, pids)
        time.sleep(TAIL_SECONDS)
        return faults + _end(stack, identity, order, page, folder)


# Who takes part


def _tournament(stack: Stack, options: argparse.Namespace) -> str:
    """One that everybody sees, of whose pods the stack's own worker runs none."""
    (worker,) = wait_for(lambda: stack.api("GET", "/workers")["workers"], 60, "the stack's worker")
    stack.api("POST", f"/workers/{worker['name']}/drain")
    spec = {
        "name": "watched by many",
        "env_id": "CartPole-v1",
        "pool": {"size": options.pods},
        "leaderboard": {"size": 12, "eval_episodes": 8},
        "stop": {"pods": 10**6},
    }
    identity = stack.tournament_start(**spec)
    stack.api("PUT", f"/tournaments/{identity}/sharing", {"shared": True})
    return identity


def _people(stack: Stack, count: int) -> list[str]:
    """The session cookies of so many people who have signed in."""
    os.environ.update(stack.environment, DJANGO_SETTINGS_MODULE="webapp.settings")
    import django

    django.setup()
    from django.contrib.auth.models import User

    from webapp.accounts.services import sign_in_link_create

    people = User.objects.bulk_create(User(username=f"viewer-{i}", password="!") for i in range(count))
    return [session_cookie(sign_in_link_create(person, stack.url)) for person in people]


@contextmanager
def _pods(stack: Stack, options: argparse.Namespace) -> Iterator[list[int]]:
    """The pids of workers whose pods only talk."""
    command = [sys.executable, "-m", "benchmarks.viewers.pods", "--rate", str(options.rate)]
    command += ["--round-seconds", str(options.round_seconds)]
    shares = [(options.pods + i) // options.workers for i in range(options.workers)]
    workers = [
        subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=os.environ | {"PODRACER_SLOTS": str(slots), "PODRACER_WORKER_NAME": f"talking-{i}"},
        )
        for i, slots in enumerate(shares)
    ]
    try:
        yield [worker.pid for worker in workers]
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(30)


Order = Callable[..., dict[str, Any]]


@contextmanager
def _crowds(stack: Stack, path: str, cookies: list[str]) -> Iterator[tuple[Order, list[int]]]:
    """All viewers without a screen, who do as they are told, in CROWDS processes. Order, and the pids."""
    with ExitStack() as running:
        crowds = [running.enter_context(_crowd(stack, path, cookies[i::CROWDS])) for i in range(CROWDS)]

        def order(**parts: Any) -> dict[str, Any]:
            for number, crowd in enumerate(crowds):
                # One viewer alone stalls.
                print(json.dumps(parts if number == 0 else {**parts, "stall": 0}), file=crowd.stdin, flush=True)
            answers = [json.loads(crowd.stdout.readline()) for crowd in crowds if crowd.stdout]
            return report.joined(answers)

        yield order, [crowd.pid for crowd in crowds]


@contextmanager
def _crowd(stack: Stack, path: str, cookies: list[str]) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "benchmarks.viewers.crowd"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as crowd:
        begin = {"url": stack.url, "path": path, "cookies": cookies}
        print(json.dumps(begin), file=crowd.stdin, flush=True)
        try:
            yield crowd
        finally:
            crowd.terminate()


def _running(stack: Stack, identity: str) -> int:
    return int(stack.api("GET", f"/tournaments/{identity}")["pods"]["RUNNING"])


# What is measured


def _measure(options: argparse.Namespace, order: Order, page: RealPage | None, pids: Mapping[str, int]) -> list[str]:
    memory = Memory({name: pids[name] for name in ("web", "valkey")})
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    began = time.monotonic()
    order(order="measure", stall=min(options.stall, options.seconds))
    first = len(page.delays) if page else 0
    memory.start()
    time.sleep(options.seconds)
    seconds = time.monotonic() - began
    spent = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
    memory.stop()
    heard = order(order="report")
    readers = options.viewers - (options.stall > 0)
    drawn = sorted(page.delays[first:]) if page else []
    report.load(seconds, spent)
    return [
        *report.delays(options, heard, readers, seconds),
        *report.drawn(options, drawn),
        *report.memory(memory, seconds),
    ]


# How it ends


def _end(stack: Stack, identity: str, order: Order, page: RealPage | None, folder: Path) -> list[str]:
    """Stop the tournament, and compare what everybody knows then with the database."""
    stack.api("POST", f"/tournaments/{identity}/stop")
    wait_for(lambda: _running(stack, identity) == 0, SETTLE_SECONDS, "the end of every pod")
    expected = state_in_database(stack, identity)
    revision = expected["tournament"]["revision"]
    path = folder / "expected.json"
    path.write_text(json.dumps(expected))
    found = order(order="compare", revision=revision, seconds=SETTLE_SECONDS, expected=str(path))
    codes = sorted({code for some in found["again"].values() for code in some})
    points = sum(len(curve["env_steps"]) for curve in expected["curves"].values())
    print(
        f"in the end: {len(expected['pods'])} pods, {points} points, revision {revision}; connected again: "
        f"{len(found['again'])} viewers, after {codes}; "
        f"{len(found['wrong'])} viewers differ from the database"
    )
    alike: dict[str, list[str]] = {}
    for index, sentences in found["wrong"].items():
        alike.setdefault("; ".join(sentences), []).append(index)
    faults = ["so many points that curves are thinned, and not all compared"] if expected["thinned"] else []
    faults += [f"viewers {', '.join(indices[:5])} ({len(indices)} in all): {why}" for why, indices in alike.items()]
    if page:
        faults += [f"Chromium: {sentence}" for sentence in differences(expected, page.state())]
    return faults


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--pods", type=int, default=32)
    parser.add_argument("--rate", type=float, default=10.0, help="points a second of each pod")
    parser.add_argument("--round-seconds", type=float, default=20.0, help="of a pod, on average; then another begins")
    parser.add_argument("--workers", type=int, default=2, help="processes that the pods share")
    parser.add_argument("--seconds", type=float, default=60.0, help="that are measured")
    parser.add_argument("--stall", type=float, default=60.0, help="seconds for which one viewer reads nothing")
    parser.add_argument("--limit", type=float, default=500.0, help="milliseconds, 95th percentile")
    parser.add_argument("--least", type=float, default=0.9, help="of the points that the pods mean to say")
    parser.add_argument("--page", action=argparse.BooleanOptionalAction, default=True, help="open Chromium as well")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
