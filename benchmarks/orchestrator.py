"""Pods that do nothing, as fast as the orchestrator with the real database, broker and workers takes them.

    python -m benchmarks.orchestrator --tournaments 8 --seconds 20 --limit 200

PostgreSQL waits for the disk at every commit. Real Celery workers are started, and the scheduler, as `make run` does;
only their pod processes are replaced, by one that ends at once: it says one point of a curve, and leaves a score and
a training state of a few bytes for its heirs. So a slot does all else: it claims, makes the pod's folder, checks its
plan, reports, renews the lease, stores the file, hands in the result, and at once claims the next. Pods are counted
in the database, in the middle of the run. Afterwards everything must have been counted once. Then the statements of a
pod are counted, on one slot.

Exits 1 when fewer than `--limit` pods finish a second, or when one was lost or counted twice.

    python -m benchmarks.orchestrator --history 100000

says instead what a decision costs after 1,000, 10,000 and so many past agents, in each mode; see history.py.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.viewers.machine import cpu_seconds
from podracer_core.progress import Directive, Evaluation, Outcome, PodMessage, PodResult, Progress
from podracer_core.spec import PodPlan

WARM_PODS = 100
"""Finished before the clock starts: connections are open and statements prepared."""

COUNTED_PODS = 100
START_SECONDS = 120.0


class EmptyPod:
    """In place of a pod process. handed: how many results this program's have given."""

    alive = True
    handed = 0

    def __init__(self, device: str = "cpu", threads: int = 1) -> None:
        self._random = Random(f"{os.getpid()}/{id(self)}")
        self._messages: deque[PodMessage] = deque()

    def start(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...

    def direct(self, directive: Directive) -> None: ...

    def submit(self, plan: PodPlan) -> None:
        state = Path(plan.directory) / "state.pt"
        state.write_bytes(b"trained")
        score = self._random.gauss(100, 30)
        returns = tuple(self._random.gauss(score, 10) for _ in range(plan.eval_episodes))
        evaluation = Evaluation(score, score - 5, score + 5, score, score, returns, (10,) * len(returns))
        self._messages.append(Progress(500, 0.5, 1000.0, score, {"policy_loss": 0.1}, sent_at=time.time()))
        self._messages.append(PodResult(Outcome.FINISHED, 1000, 1.0, evaluation, state_path=str(state)))

    def poll(self, timeout: float) -> PodMessage:
        message = self._messages.popleft()
        EmptyPod.handed += isinstance(message, PodResult)
        return message


def main() -> int:
    options = _parse()
    if options.worker:
        return _work()
    with tempfile.TemporaryDirectory() as folder:
        return _measure(Path(folder), options)


def _work() -> int:
    """`python -m workers`, with empty pods."""
    import workers.__main__
    import workers.celery
    import workers.slot

    workers.slot.PodProcess = EmptyPod  # type: ignore[assignment, misc]
    try:
        return workers.__main__.main()
    finally:
        print(EmptyPod.handed)


def _measure(home: Path, options: argparse.Namespace) -> int:
    from webapp.embedded.postgres import EmbeddedPostgres
    from webapp.embedded.registry import services_plan
    from webapp.embedded.valkey import EmbeddedValkey

    services = services_plan(home)
    postgres, valkey = EmbeddedPostgres(home, services), EmbeddedValkey(home, services)
    try:
        os.environ.update(DATABASE_URL=postgres.start(), REDIS_URL=valkey.start(), PODRACER_HOME=str(home))
        os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
        if options.history:
            return _measure_history(options)
        _set_up(options)
        assert postgres.process is not None
        assert valkey.process is not None
        rate, handed = _run(options, {"PostgreSQL": postgres.process.pid, "Valkey": valkey.process.pid})
        fault = _miscounted(handed)
        if fault:
            print(fault)
        _count_statements()
        return 1 if fault or rate < options.limit else 0
    finally:
        valkey.stop()
        postgres.stop()


def _set_up(options: argparse.Namespace) -> None:
    _prepare()
    from podracer_core.spec_parse import spec_parse
    from webapp.tournaments import services

    owner = _owner()
    data = {"env_id": "CartPole-v1", "pool": {"size": options.pool}, "stop": {"pods": 10**6}}
    for i in range(options.tournaments):
        services.tournament_create(owner=owner, spec=spec_parse(data | {"name": f"t{i}", "seed": i}), start=True)


def _prepare() -> None:
    import django

    django.setup()
    from webapp.embedded.preparation import database_prepare

    database_prepare()


def _owner() -> Any:
    from django.contrib.auth.models import User

    return User.objects.create(username="benchmark")


def _measure_history(options: argparse.Namespace) -> int:
    from benchmarks import history

    _prepare()
    return 0 if history.measure(_owner(), options.history, options.decision_limit) else 1


def _run(options: argparse.Namespace, servers: dict[str, int]) -> tuple[float, int]:
    """Pods finished a second, and how many the workers have handed in."""
    scheduler = subprocess.Popen([sys.executable, "manage.py", "scheduler"])
    command = [sys.executable, "-m", "benchmarks.orchestrator", "--worker"]
    workers = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PODRACER_SLOTS": str(options.slots), "PODRACER_WORKER_NAME": f"worker-{number}"},
        )
        for number in range(options.processes)
    ]
    programs = [scheduler, *workers]
    try:
        _wait_for(lambda: _finished() >= WARM_PODS)
        groups = {"Python": [program.pid for program in programs]} | {name: [pid] for name, pid in servers.items()}
        busy, count, began = _cpu_seconds(groups), _finished(), time.monotonic()
        time.sleep(options.seconds)
        seconds, pods = time.monotonic() - began, _finished() - count
        _print(pods, seconds, {name: spent - busy[name] for name, spent in _cpu_seconds(groups).items()})
    finally:
        for program in programs:
            program.send_signal(signal.SIGTERM)
        outputs = [program.communicate()[0] for program in programs]
    return pods / seconds, sum(int(output.split()[-1]) for output in outputs if output)


def _print(pods: int, seconds: float, spent: dict[str, float]) -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{pods} pods in {seconds:.1f} s: {pods / seconds:.0f} pods finished a second")
    shares = ", ".join(f"{name} {1000 * share / pods:.2f}" for name, share in spent.items())
    print(f"CPU time a pod: {1000 * sum(spent.values()) / pods:.2f} ms ({shares})")


def _finished() -> int:
    from webapp.tournaments.models import Pod

    return Pod.objects.filter(status=Pod.Status.FINISHED).count()


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"the workers finished no {WARM_PODS} pods within {START_SECONDS:.0f} seconds")
        time.sleep(0.1)


def _cpu_seconds(groups: dict[str, list[int]]) -> dict[str, float]:
    """Spent so far by the programs of each group and what they started."""
    return {name: sum(map(cpu_seconds, pids)) for name, pids in groups.items()}


def _miscounted(handed: int) -> str | None:
    """What does not add up between what was handed in and what is in the database, or None."""
    from webapp.tournaments.counts import counted
    from webapp.tournaments.models import Agent, Event, Pod, Tournament

    told = Counter(Event.objects.filter(kind__in=("agent_entered", "agent_rejected")).values_list("agent", flat=True))
    scored = Agent.objects.filter(score__isnull=False).count()
    if not handed == _finished() == scored == len(told):
        return f"handed in {handed}, finished {_finished()}, scored {scored}, told of {len(told)}"
    if max(told.values()) > 1:
        return f"{sum(count > 1 for count in told.values())} agents were told of twice"
    if Pod.objects.exclude(status__in=(Pod.Status.FINISHED, Pod.Status.QUEUED)).exists():
        return "not every pod is finished or queued"
    for tournament in Tournament.objects.all():
        wrong = {name: value for name, value in counted(tournament).items() if getattr(tournament, name) != value}
        if wrong:
            return f"{tournament} should have counted {wrong}"
    return None


def _count_statements() -> None:
    """Of pods one after another, once the statements are prepared."""
    from django.db import connection

    import workers.slot
    from workers.machine import Machine
    from workers.reporter import Reporter

    workers.slot.PodProcess = EmptyPod  # type: ignore[assignment, misc]
    slot = workers.slot.Slot(Machine("counting", "cpu", 1, 1), 0, threading.Event(), Reporter())
    count = sent = 0

    def counting(execute: Any, sql: str, *arguments: Any) -> Any:
        nonlocal count, sent
        count, sent = count + max(1, sql.count("EXECUTE ")), sent + 1
        return execute(sql, *arguments)

    claim = _run_pods(slot, COUNTED_PODS)
    with connection.execute_wrapper(counting):
        _run_pods(slot, COUNTED_PODS, claim)
    ways = f"sent in {sent / COUNTED_PODS:.1f} goes"
    print(f"{count / COUNTED_PODS:.1f} statements a pod, {ways}, on one slot")


def _run_pods(slot: Any, pods: int, claim: Any = None) -> Any:
    """As `Slot.work`, so many. Returns the claim that is still to be run."""
    from webapp.tournaments import orchestrator

    claim = claim or orchestrator.pod_claim(worker="counting", slot=0, device_kind="cpu")
    for _ in range(pods):
        claim = slot.run(claim, go_on=True)
        assert claim is not None
    return claim


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tournaments", type=int, default=8)
    parser.add_argument("--pool", type=int, default=4, help="pods at once, of each tournament")
    parser.add_argument("--processes", type=int, default=2, help="workers")
    parser.add_argument("--slots", type=int, default=4, help="of each worker")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--limit", type=float, default=0.0, help="pods finished a second, at least")
    parser.add_argument("--history", type=int, default=0, help="past agents, at most")
    parser.add_argument("--decision-limit", type=float, default=5.0, help="CPU milliseconds, after that many")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
