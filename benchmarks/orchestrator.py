"""Pods that do nothing, claimed and handed in as fast as the real database and broker take them.

    python -m benchmarks.orchestrator --tournaments 8 --seconds 10 --limit 200

PostgreSQL waits for the disk at every commit. Worker processes act as slots do: claim, one batch of curve points,
hand in a score, at once the next. Afterwards every pod must have been counted once. Exits 1 when fewer than
`--limit` pods finish a second, or when one was lost or counted twice.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

RETURNS = 8


def main() -> int:
    options = _parse()
    if options.worker:
        print(_work(options))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return _measure(Path(folder), options)


def _measure(home: Path, options: argparse.Namespace) -> int:
    from webapp.embedded.postgres import EmbeddedPostgres
    from webapp.embedded.registry import services_plan
    from webapp.embedded.valkey import EmbeddedValkey

    services = services_plan(home)
    postgres, valkey = EmbeddedPostgres(home, services), EmbeddedValkey(home, services)
    try:
        os.environ.update(DATABASE_URL=postgres.start(), REDIS_URL=valkey.start(), PODRACER_HOME=str(home))
        _set_up_django()
        tournaments = _start_tournaments(options.tournaments, options.pool)
        command = [sys.executable, "-m", "benchmarks.orchestrator", "--worker", *sys.argv[1:]]
        began = time.monotonic()
        workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(options.processes)]
        finished, busy = _totals([worker.communicate()[0] for worker in workers])
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {time.monotonic() - began:.0f} s in all")
        print(f"{finished} pods of {len(tournaments)} tournaments: {finished / busy:.0f} pods finished a second")
        fault = _miscounted(finished)
        if fault:
            print(fault)
        return 1 if fault or finished / busy < options.limit else 0
    finally:
        valkey.stop()
        postgres.stop()


def _totals(outputs: list[str]) -> tuple[int, float]:
    """Pods finished by all workers, and the seconds that the slowest took."""
    pairs = [output.split() for output in outputs]
    return sum(int(count) for count, _ in pairs), max(float(seconds) for _, seconds in pairs)


def _set_up_django() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    django.setup()


def _start_tournaments(count: int, pool: int) -> list[Any]:
    from django.contrib.auth.models import User

    from podracer_core.spec_parse import spec_parse
    from webapp.embedded.preparation import database_prepare
    from webapp.tournaments import services

    database_prepare()
    owner = User.objects.create(username="benchmark")
    data = {"env_id": "CartPole-v1", "pool": {"size": pool}, "stop": {"pods": 10**6}}
    specs = [spec_parse(data | {"name": f"t{i}", "seed": i}) for i in range(count)]
    return [services.tournament_create(owner=owner, spec=spec, start=True) for spec in specs]


def _work(options: argparse.Namespace) -> str:
    """A worker: its slots hand in pods until the time is up."""
    _set_up_django()
    counts: list[int] = []
    began = time.monotonic()
    until = began + options.seconds
    slots = [
        threading.Thread(target=lambda i=i: counts.append(_slot(f"{os.getpid()}", i, until)))
        for i in range(options.slots)
    ]
    for slot in slots:
        slot.start()
    for slot in slots:
        slot.join()
    return f"{sum(counts)} {time.monotonic() - began:.3f}"


def _slot(worker: str, index: int, until: float) -> int:
    from podracer_core.progress import Outcome, PodResult, Progress
    from podracer_core.tournament.statistics import summarise
    from webapp.tournaments import orchestrator, storage
    from webapp.tournaments.endings import StoredFiles

    rng, count = Random(f"{worker}/{index}"), 0
    while time.monotonic() < until:
        claim = orchestrator.pod_claim(worker=worker, slot=index, device_kind="cpu")
        if claim is None:  # other slots hold all that is queued
            continue
        score = rng.gauss(100, 30)
        points = [Progress(step, step / 1000, 1000.0, score, sent_at=time.time()) for step in (500, 1000)]
        orchestrator.pod_progress(pod_id=claim.pod_id, attempt=claim.attempt, points=points)
        returns = [rng.gauss(score, 10) for _ in range(RETURNS)]
        result = PodResult(Outcome.FINISHED, 1000, 1.0, evaluation=summarise(returns, [10] * RETURNS))
        files = StoredFiles(state_file=storage.agent_file(claim.tournament_id, claim.agent_id, "state.pt"))
        orchestrator.pod_finish(pod_id=claim.pod_id, attempt=claim.attempt, result=result, files=files)
        count += 1
    return count


def _miscounted(finished: int) -> str | None:
    """What does not add up between what was handed in and what is in the database, or None."""
    from webapp.tournaments.models import Agent, Event, Pod

    told = Counter(Event.objects.filter(kind__in=("agent_entered", "agent_rejected")).values_list("agent", flat=True))
    stored = Pod.objects.filter(status=Pod.Status.FINISHED).count()
    scored = Agent.objects.filter(score__isnull=False).count()
    if not finished == stored == scored == len(told):
        return f"handed in {finished}, finished {stored}, scored {scored}, told of {len(told)}"
    if max(told.values()) > 1:
        return f"{sum(count > 1 for count in told.values())} agents were told of twice"
    return None


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tournaments", type=int, default=8)
    parser.add_argument("--pool", type=int, default=4, help="pods at once, of each tournament")
    parser.add_argument("--processes", type=int, default=2, help="worker processes")
    parser.add_argument("--slots", type=int, default=4, help="of each worker process")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--limit", type=float, default=0.0, help="pods finished a second, at least")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
