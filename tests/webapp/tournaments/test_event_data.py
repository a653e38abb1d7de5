"""What events say for programs: enough to tell every agent's record from them alone."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import elastic_database
from benchmarks.elastic_records import Check, checks, rebuilt
from podracer_core.progress import Outcome, PodResult
from tests.webapp.tournaments import making
from webapp.tournaments import exporting, orchestrator, selectors, services
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.models import Agent, Event, Pod, Tournament
from webapp.tournaments.orchestrator import Claim

pytestmark = pytest.mark.django_db

PLACES = 3
STRATEGIES = ["exploit", "continue", "crossover", "fuse", "rerun"]


def told(kind: str) -> Any:
    return Event.objects.filter(kind=kind).latest("pk").data


def attempt(claimed: Claim) -> dict[str, Any]:
    return {"attempt": claimed.attempt, "worker": "worker", "slot": 0}


def paused(env_steps: int) -> PodResult:
    return PodResult(Outcome.PAUSED, env_steps, 1.0)


def test_who_enters_is_told_with_its_descent_its_rank_and_whom_it_displaced() -> None:
    making.tournament(
        pool={"size": 1},
        generator={"strategies": {"exploit": 1}},
        leaderboard={"size": 1},
    )
    founder = making.claim()
    making.finish(founder, making.result(1.0))
    descent = {"index": 0, "strategy": "fresh", "parents": [], "inherits_from": None}
    ranked = {"score": 1.0, "rank": 1, "dropped": []}
    assert told("agent_entered") == {**attempt(founder), "env_steps": 1000, **descent, **ranked}
    heir, first = making.claim(), str(founder.agent_id)
    making.finish(heir, making.result(2.0, env_steps=500))
    descent = {"index": 1, "strategy": "exploit", "parents": [first], "inherits_from": first}
    ranked = {"score": 2.0, "rank": 1, "dropped": [first]}
    assert told("agent_entered") == {**attempt(heir), "env_steps": 500, **descent, **ranked}
    making.finish(making.claim(), making.result(1.5))
    assert (told("agent_rejected")["score"], told("agent_rejected")["rank"]) == (1.5, None)


def test_the_parents_of_a_crossed_agent_are_told_the_donor_of_its_weights_first() -> None:
    making.tournament(pool={"size": 2}, generator={"strategies": {"crossover": 1}})
    first, second = making.claim(), making.claim()
    making.finish(first, making.result(1.0))
    making.finish(second, making.result(2.0))
    making.claim()
    making.finish(making.claim(), making.result(0.5))
    assert told("agent_rejected" if told("agent_entered")["index"] != 3 else "agent_entered")["parents"] == [
        str(second.agent_id),
        str(first.agent_id),
    ]


def test_a_pod_that_leaves_its_worker_is_told_with_where_it_goes_on() -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    making.finish(claimed, paused(700), StoredFiles(state_file="state-1.pt"))
    assert told("pod_moved") == {**attempt(claimed), "goes_on_from": 700}
    text = Event.objects.get(kind="pod_moved").text
    assert text.endswith("left worker, saved at step 700, from which it goes on.")
    again = making.claim()
    making.finish(again, making.failure("It vanished.", retryable=True))
    assert told("pod_retried") == {**attempt(again), "attempt": 2, "goes_on_from": 700}


def test_stopped_pods_are_told_those_that_waited_without_an_attempt() -> None:
    tournament = making.tournament(pool={"size": 2})
    running = making.claim()
    services.tournament_stop(tournament_id=tournament.pk)
    assert "attempt" not in told("pod_stopped")
    assert "before it had trained: Stopped by hand." in Event.objects.get(kind="pod_stopped").text
    making.finish(running, PodResult(Outcome.STOPPED, 300, 1.0), StoredFiles())
    last = told("pod_stopped")
    assert (last["attempt"], last["worker"], last["env_steps"], last["index"]) == (1, "worker", 300, 0)


def test_the_pools_sizes_are_told() -> None:
    tournament = making.tournament(pool={"size": 2})
    services.tournament_update(tournament_id=tournament.pk, pool_size=5)
    assert (told("tournament_started"), told("pool_changed")) == ({"pool_size": 2}, {"from": 2, "to": 5})


def lose(claimed: Claim) -> None:
    """Its worker falls silent, and the sweep notices."""
    Pod.objects.filter(pk=claimed.pod_id).update(lease_until=Now() - timedelta(seconds=1))
    orchestrator.sweep()


def trained(claimed: Claim, number: int) -> None:
    """Report the env steps of this attempt, as many as its result will have."""
    done = Pod.objects.get(pk=claimed.pod_id).state_env_steps
    making.progress(claimed, making.point(done + number), making.point(done + 2 * number))


HAPPENINGS: dict[str, Any] = {
    "finish": lambda claimed, number: making.finish(claimed, making.result(float(number % 7), env_steps=10_000)),
    "diverge": lambda claimed, number: making.finish(claimed, making.result(float("nan"), env_steps=10_000)),
    "fail": lambda claimed, number: making.finish(claimed, making.failure(f"Broken {number}.")),
    "lose": lambda claimed, number: lose(claimed),
    "vanish": lambda claimed, number: making.finish(claimed, making.failure("It vanished.", retryable=True)),
    "move": lambda claimed, number: making.finish(
        claimed,
        paused(Pod.objects.get(pk=claimed.pod_id).state_env_steps + 2 * number),
        StoredFiles(state_file="state-1.pt"),
    ),
}


@given(happenings=st.lists(st.sampled_from([*HAPPENINGS, "grow", "shrink", "pause"]), max_size=25), stop=st.booleans())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_events_alone_tell_the_records_that_database_and_export_have(happenings: list[str], stop: bool) -> None:
    with transaction.atomic():
        tournament = making.tournament(
            pool={"size": 2},
            stop={"pods": 12},
            leaderboard={"size": PLACES, "max_per_ancestor": 1.0},
            generator={"strategies": dict.fromkeys(STRATEGIES, 1)},
            max_failures=100,
        )
        pools = [2]
        for number, what in enumerate(happenings, start=1):
            happen(tournament, what, number, pools)
        end(tournament, stop)
        wrong = [check for check in compared(tournament, pools) if check.wrong]
        assert not wrong
        transaction.set_rollback(True)


def happen(tournament: Tournament, what: str, number: int, pools: list[int]) -> None:
    tournament.refresh_from_db()
    if tournament.status in Tournament.ENDED:
        return
    if what in ("grow", "shrink"):
        pools.append(pools[-1] + 1 if what == "grow" or pools[-1] == 1 else 1)
        services.tournament_update(tournament_id=tournament.pk, pool_size=pools[-1])
    elif what == "pause":
        services.tournament_pause(tournament_id=tournament.pk)
        services.tournament_resume(tournament_id=tournament.pk)
    else:
        claimed = making.claim()
        trained(claimed, number)
        HAPPENINGS[what](claimed, number)


def end(tournament: Tournament, stop: bool) -> None:
    """By hand, with a pod running, or by the budget of pods."""
    tournament.refresh_from_db()
    running = making.claim() if tournament.status == Tournament.Status.RUNNING else None
    if running and stop:
        services.tournament_stop(tournament_id=tournament.pk)
        making.finish(running, PodResult(Outcome.STOPPED, 10_000, 1.0), StoredFiles())
    while running and not stop:
        trained(running, 1)
        making.finish(running, making.result(3.0, env_steps=10_000))
        tournament.refresh_from_db()
        running = making.claim() if tournament.status == Tournament.Status.RUNNING else None


def compared(tournament: Tournament, pools: list[int]) -> list[Check]:
    events = [selectors.event_item(row) for row in selectors.event_rows(tournament.pk).order_by("pk")]
    export = json.loads("".join(exporting.tournament_json(tournament.pk)))
    with connection.cursor() as cursor:
        database = elastic_database.read(cursor, tournament.pk)
    assert Agent.objects.filter(tournament=tournament).count() == len(database["agents"])
    return checks(rebuilt(events), database, export, pools=pools, places=PLACES)
