"""A slot that hands in a result brings the last points of the curve and takes the next pod, all in one transaction."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DataError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podracer_core.progress import Outcome, PodResult, Progress
from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_orchestrator_concurrency import together
from webapp.tournaments import events, orchestrator, population, services
from webapp.tournaments.claims import Taker
from webapp.tournaments.counts import counted
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import CurvePoint, LeaderboardEntry, Pod, Tournament
from webapp.tournaments.orchestrator import Claim
from webapp.tournaments.workers import services as worker_services

pytestmark = pytest.mark.django_db

TAKER = Taker("worker", 0, "cpu")
TOO_FAR = 2**70
"""More env steps than the database can hold."""


def hand_in(claimed: Claim, result: PodResult | None = None, *points: Progress) -> Claim | None:
    return orchestrator.pod_finish(
        pod_id=claimed.pod_id,
        attempt=claimed.attempt,
        result=result or making.result(),
        files=StoredFiles(state_file=making.state_name(claimed)),
        points=points,
        taker=TAKER,
    )


def one_by_one(claimed: Claim, result: PodResult, points: list[Progress]) -> Claim | None:
    making.progress(claimed, *points)
    making.finish(claimed, result)
    return orchestrator.pod_claim(worker=TAKER.worker, slot=TAKER.slot, device_kind=TAKER.device_kind)


def at_once(claimed: Claim, result: PodResult, points: list[Progress]) -> Claim | None:
    return hand_in(claimed, result, *points)


RESULTS: dict[str, Callable[[float], PodResult]] = {
    "scored": lambda score: making.result(score, confirmed=score),
    "diverged": lambda _: making.result(float("nan")),
    "failed": lambda score: making.failure(f"Broken at {score}."),
    "lost": lambda _: making.failure("It vanished.", retryable=True),
    "paused": lambda score: PodResult(Outcome.PAUSED, 10 + int(score), 1.0),
    "parent lost": lambda _: PodResult(Outcome.FAILED, 0, 0.0, reason="It is gone.", lost_donor=0),
}

Ends = list[tuple[str, int]]


def record(mode: str, ends: Ends, way: Callable[[Claim, PodResult, list[Progress]], Claim | None]) -> list[Any]:
    """What a tournament is after its pods have ended so, its agents called by their numbers."""
    with transaction.atomic():
        spec = {"generator": {"mode": mode}, "pool": {"size": 2}, "stop": {"pods": 9}, "max_failures": 100}
        tournament = making.tournament(owner=making.user(f"{mode} {way.__name__}"), **spec)
        claimed: Claim | None = making.claim()
        plans = []
        for number, (end, score) in enumerate(ends, start=1):
            if claimed is None:
                break
            plans.append(claimed.plan)
            if end == "parent lost" and not claimed.inherit_files:
                end = "scored"
            claimed = way(
                claimed,
                RESULTS[end](float(score)),
                [making.point(10 * step) for step in range(1, number)] or [making.point(1)],
            )
        found = told(tournament, plans)
        transaction.set_rollback(True)
    return found


def told(tournament: Tournament, plans: list[dict[str, Any]]) -> list[Any]:
    tournament.refresh_from_db()
    numbers = {agent.name: f"#{agent.index}" for agent in tournament.agents.all()}
    keys = {str(agent.pk): f"#{agent.index}" for agent in tournament.agents.all()}

    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: named(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [named(part) for part in value]
        if isinstance(value, str):
            for name, number in numbers.items():
                value = value.replace(name, number)
            return keys.get(value, value)
        return value

    agent_fields = (
        "index",
        "strategy",
        "score",
        "founder_index",
        "env_steps",
        "hyperparameters",
        "promotable",
        "color",
    )
    pod_fields = (
        "agent__index",
        "status",
        "attempt",
        "losses",
        "env_steps",
        "episodic_return",
        "stepping_since",
        "reason",
        "worker",
    )
    return named(
        [
            {name: getattr(tournament, name) for name in counted(tournament)},
            (tournament.status, tournament.reason, tournament.best_history, tournament.agents_created),
            [*tournament.agents.order_by("index").values_list(*agent_fields)],
            [*tournament.pods.order_by("agent__index").values_list(*pod_fields)],
            [*tournament.leaderboard.values_list("rank", "agent__index", "rank_change", "beats_next")],
            [*tournament.events.order_by("pk").values_list("kind", "text", "data")],
            [
                *CurvePoint.objects.filter(agent__tournament=tournament)
                .order_by("agent__index", "attempt", "env_steps")
                .values_list("agent__index", "attempt", "env_steps", "episodic_return")
            ],
            plans,
        ]
    )


@given(
    mode=st.sampled_from(["asynchronous", "generational", "successive_halving"]),
    ends=st.lists(st.tuples(st.sampled_from(["scored", "scored", *RESULTS]), st.integers(0, 20)), max_size=9),
)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_handed_in_at_once_is_what_it_is_one_by_one(mode: str, ends: Ends) -> None:
    assert record(mode, ends, at_once) == record(mode, ends, one_by_one)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What viewers are sent, with its group."""
    sent: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(events.publisher, "send", lambda group, _, message=None: sent.append((group, message)))
    return sent


@pytest.mark.django_db(transaction=True)
def test_viewers_are_told_in_one_message_with_the_next_revision(messages: list[tuple[str, dict[str, Any]]]) -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    messages.clear()
    before = Tournament.objects.get().revision
    following = hand_in(claimed, None, making.point(10), making.point(20))
    assert following is not None
    assert following.told
    ((group, message),) = messages
    assert (group, message["revision"]) == (events.group_name(tournament.pk), before + 1)
    assert Tournament.objects.get().revision == before + 1
    kinds = [change["kind"] for change in message["changes"]]
    assert {"curve", "pod", "event", "leaderboard", "status"} == set(kinds)
    pods = {change["key"] for change in message["changes"] if change["kind"] == "pod"}
    assert pods == {claimed.pod_id, following.pod_id}
    (curve,) = [change["data"] for change in message["changes"] if change["kind"] == "curve"]
    assert (curve["env_steps"], curve["pod"]) == ([10, 20], str(claimed.pod_id))


@pytest.mark.django_db(transaction=True)
def test_a_pod_of_another_tournament_is_taken_in_its_turn_and_told_to_its_viewers(
    messages: list[tuple[str, dict[str, Any]]],
) -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    other = making.tournament(pool={"size": 1, "priority": 5}, owner=making.user("other"))
    messages.clear()
    following = hand_in(claimed)
    assert following is not None
    assert (following.tournament_id, following.told) == (other.pk, False)
    assert {group for group, _ in messages} == {events.group_name(claimed.tournament_id)}
    orchestrator.claim_tell(following)
    group, message = messages[-1]
    other.refresh_from_db()
    assert (group, message["revision"]) == (events.group_name(other.pk), other.revision)
    assert message["changes"] == [events.change("pod", following.pod_id)]


def test_whoever_goes_on_no_more_takes_nothing_and_neither_does_a_drained_worker() -> None:
    making.tournament(pool={"size": 2})
    making.finish(making.claim())
    assert Pod.objects.filter(status="RUNNING").count() == 0
    services.worker_seen(name=TAKER.worker, device_kind="cpu", slots=1)
    claimed = making.claim()
    worker_services.worker_drain(name=TAKER.worker, now=False)
    assert hand_in(claimed) is None
    assert Pod.objects.filter(status="RUNNING").count() == 0


def test_a_result_that_comes_twice_takes_no_second_pod() -> None:
    making.tournament(pool={"size": 2})
    claimed = making.claim()
    assert hand_in(claimed) is not None
    with pytest.raises(PodLostError):
        hand_in(claimed, None, making.point(10))
    assert Pod.objects.filter(status="RUNNING").count() == 1
    assert CurvePoint.objects.count() == 0


def test_points_that_cannot_be_stored_leave_nothing_of_what_came_with_them() -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    with pytest.raises(DataError), transaction.atomic():
        hand_in(claimed, None, making.point(10), making.point(TOO_FAR))
    assert list(Pod.objects.values_list("pk", "status")) == [(claimed.pod_id, "RUNNING")]
    assert CurvePoint.objects.count() == LeaderboardEntry.objects.count() == 0


def test_a_next_pod_that_cannot_be_planned_takes_back_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()

    def broken(*_: Any) -> dict[str, Any]:
        raise ValueError("an agent of another version")

    monkeypatch.setattr(population, "plan_of", broken)
    with pytest.raises(ValueError, match="another version"):
        hand_in(claimed)
    assert Pod.objects.get(pk=claimed.pod_id).status == "FINISHED"


def test_a_name_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_free(key: str, index: int, taken: set[str]) -> str:
        return next(name for name in ("one", "two", "three") if name not in taken)

    monkeypatch.setattr(population, "agent_name", first_free)
    tournament = making.tournament(pool={"size": 3})
    assert list(tournament.agents.order_by("index").values_list("name", flat=True)) == ["one", "two", "three"]


@pytest.mark.django_db(transaction=True)
def test_slots_that_go_from_pod_to_pod_and_report_lose_and_double_nothing() -> None:
    tournaments = [
        making.tournament(name=name, pool={"size": 2}, stop={"pods": 12}, owner=making.user(name))
        for name in ("one", "two", "three")
    ]

    def slot(number: int) -> None:
        claimed: Claim | None = making.claim(f"w{number}", number)
        while claimed:
            orchestrator.claim_tell(claimed)
            making.progress(claimed, making.point(1))
            claimed = orchestrator.pod_finish(
                pod_id=claimed.pod_id,
                attempt=claimed.attempt,
                result=making.result(float(claimed.pod_id)),
                files=StoredFiles(state_file=making.state_name(claimed)),
                points=[making.point(2)],
                taker=Taker(f"w{number}", number, "cpu"),
            )

    together(*[lambda number=number: slot(number) for number in range(5)])
    for tournament in tournaments:
        tournament.refresh_from_db()
        assert (tournament.status, tournament.pods_finished) == ("FINISHED", 12)
        assert counted(tournament) == {name: getattr(tournament, name) for name in counted(tournament)}
        told = tournament.events.filter(kind__in=("agent_entered", "agent_rejected")).values_list("agent", flat=True)
        assert sorted(told) == sorted(tournament.agents.filter(score__isnull=False).values_list("pk", flat=True))
    assert CurvePoint.objects.count() == 2 * 36
    assert set(Pod.objects.values_list("status", "attempt")) == {("FINISHED", 1)}
