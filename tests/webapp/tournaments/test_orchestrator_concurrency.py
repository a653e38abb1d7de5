"""Many slots at once: each pod claimed once, nothing counted twice, no deadlock."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from podracer_core.progress import Directive, Outcome, PodResult
from tests.webapp.tournaments import making
from webapp.tournaments import orchestrator, services
from webapp.tournaments.claims import Report
from webapp.tournaments.counts import counted
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import PodLostError, TournamentError
from webapp.tournaments.models import Agent, CurvePoint, LeaderboardEntry, Pod, Tournament

pytestmark = pytest.mark.django_db(transaction=True)


def together(*functions: Callable[[], Any], timeout: float = 60) -> list[Any]:
    """What the functions return, each run in a thread with a connection of its own."""

    def run(function: Callable[[], Any]) -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '20s'")
            return function()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result(timeout) for future in [pool.submit(run, function) for function in functions]]


def try_claim(worker: str) -> orchestrator.Claim | None:
    return orchestrator.pod_claim(worker=worker, slot=0, device_kind="cpu")


def test_two_slots_that_claim_at_once_get_different_pods() -> None:
    making.tournament(pool={"size": 8})
    barrier = threading.Barrier(8)

    def slot() -> int:
        barrier.wait(10)
        claimed = try_claim("w")
        assert claimed is not None
        return claimed.pod_id

    assert len(set(together(*[slot] * 8))) == 8


def test_a_claim_does_not_wait_for_a_pod_that_another_transaction_holds() -> None:
    making.tournament(pool={"size": 2})
    with transaction.atomic():
        held = Pod.objects.select_for_update().order_by("queued_at", "pk").first()
        assert held is not None
        (claimed,) = together(lambda: try_claim("w"), timeout=5)
        assert claimed is not None
        assert claimed.pod_id != held.pk


def test_reports_of_the_same_pods_in_any_order_and_a_smaller_pool_do_not_wait_for_each_other() -> None:
    tournament = making.tournament(pool={"size": 12})
    claimed = [making.claim(slot=slot) for slot in range(12)]
    for age, claim in enumerate(claimed):  # the youngest has the lowest id
        Pod.objects.filter(pk=claim.pod_id).update(started_at=timezone.now() - timedelta(seconds=age))
    rounds, barrier = 150, threading.Barrier(3)

    def report(order: list[orchestrator.Claim], first: int) -> Callable[[], None]:
        def run() -> None:
            barrier.wait(10)
            for number in range(rounds):
                points = [making.point(first + 2 * number)]
                reports = [Report(claim.pod_id, claim.attempt, points) for claim in order]
                assert orchestrator.pods_progress(reports) == set()

        return run

    def resize() -> None:
        barrier.wait(10)
        for number in range(rounds):
            services.tournament_update(tournament_id=tournament.pk, pool_size=13 + number % 2)

    together(report(claimed, 1), report(claimed[::-1], 2), resize)
    assert CurvePoint.objects.count() == 12 * 2 * rounds


def test_a_result_that_two_threads_deliver_is_taken_once() -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    barrier = threading.Barrier(4)

    def deliver() -> bool:
        barrier.wait(10)
        try:
            making.finish(claimed)
        except PodLostError:
            return False
        return True

    assert Counter(together(*[deliver] * 4)) == {True: 1, False: 3}
    assert LeaderboardEntry.objects.count() == 1
    assert tournament.pods.count() == 2


def test_pools_stay_within_their_size_whoever_fills_them_at_once() -> None:
    tournament = making.tournament(pool={"size": 3})
    Pod.objects.all().delete()
    together(*[lambda: orchestrator.fill_pool(tournament.pk)] * 6, orchestrator.sweep, orchestrator.sweep)
    assert tournament.pods.filter(status__in=Pod.ACTIVE).count() == 3


def test_a_tournament_can_be_deleted_while_its_pods_report() -> None:
    tournament = making.tournament(pool={"size": 4})
    claims = [making.claim() for _ in range(4)]
    over = threading.Event()

    def report(claimed: orchestrator.Claim) -> int:
        step = 0
        try:
            while not over.is_set():
                step += 1
                making.progress(claimed, making.point(step))
        except PodLostError:
            return step
        pytest.fail("the tournament was not deleted")

    def delete() -> None:
        try:
            services.tournament_delete(tournament_id=tournament.pk)
        except BaseException:
            over.set()
            raise

    steps = together(delete, *[lambda claimed=claimed: report(claimed) for claimed in claims])[1:]
    assert all(steps)
    assert Tournament.objects.count() == Pod.objects.count() == Agent.objects.count() == 0


def test_slots_sweep_pauses_and_resizes_at_once_deadlock_nowhere_and_lose_nothing() -> None:
    tournaments = [making.tournament(name=name, pool={"size": 3}, stop={"pods": 12}) for name in ("one", "two")]
    over = threading.Event()

    deadline = time.monotonic() + 60

    def running() -> bool:
        return (
            time.monotonic() < deadline
            and not over.is_set()
            and Tournament.objects.filter(status__in=("RUNNING", "PAUSED")).exists()
        )

    def slot(name: str) -> int:
        finished = 0
        while running():
            claimed = try_claim(name)
            if claimed is None:
                over.wait(0.01)
                continue
            try:
                making.progress(claimed, making.point(1), making.point(2))
                directive = orchestrator.pod_renew(pod_id=claimed.pod_id, attempt=claimed.attempt)
                making.finish(claimed, *_end(directive))
                finished += directive in (Directive.CONTINUE, Directive.END)
            except PodLostError:
                continue
        return finished

    def disturb() -> None:
        sizes = [1, 4, 2, 3] * 50
        while not over.wait(0.05):
            for tournament in tournaments:
                try:
                    services.tournament_pause(tournament_id=tournament.pk)
                    services.tournament_update(tournament_id=tournament.pk, pool_size=sizes.pop())
                    services.tournament_resume(tournament_id=tournament.pk)
                except TournamentError:
                    continue

    def lose() -> None:
        while not over.wait(0.1):
            lost = Pod.objects.filter(status="RUNNING").order_by("?").values_list("pk", flat=True)[:1]
            Pod.objects.filter(pk__in=list(lost), status="RUNNING").update(
                lease_until=timezone.now() - timedelta(seconds=1)
            )
            orchestrator.sweep()

    def slot_and_end(name: str) -> None:
        try:
            slot(name)
        finally:
            over.set()

    together(*[lambda name=name: slot_and_end(name) for name in "abcd"], disturb, lose, timeout=90)
    for tournament in tournaments:
        tournament.refresh_from_db()
        finished = tournament.pods.filter(status="FINISHED").count()
        assert tournament.status == "FINISHED", tournament.reason
        assert finished >= 12
        assert tournament.agents.filter(score__isnull=False).count() == finished
        assert counted(tournament) == {name: getattr(tournament, name) for name in counted(tournament)}
        assert list(tournament.leaderboard.order_by("rank").values_list("rank", flat=True)) == list(
            range(1, tournament.leaderboard.count() + 1)
        )


def _end(directive: Directive) -> tuple[PodResult, StoredFiles]:
    if directive is Directive.PAUSE:
        return PodResult(Outcome.PAUSED, 2, 1.0), StoredFiles(state_file="state-2")
    if directive is Directive.STOP:
        return PodResult(Outcome.STOPPED, 2, 1.0), StoredFiles()
    return making.result(), StoredFiles(state_file="state")
