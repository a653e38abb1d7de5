"""What is read: the shapes hold, and the number of queries does not depend on the number of rows."""

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from tests.webapp.tournaments import making
from webapp.tournaments import agent_selectors, selectors, services
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.models import Agent, Tournament
from webapp.tournaments.workers import selectors as worker_selectors

pytestmark = pytest.mark.django_db


def queries(function: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        function()
    return len(captured)


def played(pods: int, name: str = "race") -> Tournament:
    """A tournament in which `pods` pods have finished, each but the first a child."""
    tournament = making.tournament(
        name=name, pool={"size": 1}, generator={"strategies": {"exploit": 1}}, leaderboard={"max_per_ancestor": 1}
    )
    for score in range(pods):
        claimed = making.claim()
        making.progress(claimed, making.point(500), making.point(1000))
        making.finish(claimed, making.result(float(score)))
    return tournament


@pytest.mark.parametrize(
    "read",
    [
        selectors.tournament_get,
        selectors.leaderboard_list,
        selectors.pod_list,
        selectors.event_list,
        curve_selectors.tournament_curves,
        selectors.snapshot,
    ],
)
def test_reading_a_large_tournament_takes_as_many_queries_as_a_small_one(read: Callable[[int], Any]) -> None:
    small, large = played(2, "small"), played(7, "large")
    assert queries(lambda: read(small.pk)) == queries(lambda: read(large.pk))


def test_listing_many_tournaments_takes_as_many_queries_as_one() -> None:
    played(1)
    few = queries(partial(selectors.tournament_list, visible=Q()))
    for number in range(4):
        played(2, f"race {number}")
    assert queries(partial(selectors.tournament_list, visible=Q())) == few


def test_reading_a_late_descendant_takes_as_many_queries_as_an_early_one() -> None:
    tournament = played(8)
    early, late = (tournament.agents.filter(score__isnull=False).order_by(depth)[0] for depth in ("depth", "-depth"))
    assert len(agent_selectors.agent_get(late.pk)["ancestry"]) > len(agent_selectors.agent_get(early.pk)["ancestry"])
    assert queries(lambda: agent_selectors.agent_get(early.pk)) == queries(lambda: agent_selectors.agent_get(late.pk))
    for agent in (early, late):
        assert queries(partial(curve_selectors.agent_curve, agent.pk, from_ancestor=True)) <= 3


def test_ancestry_goes_from_the_founder_to_the_agent_itself() -> None:
    agent = played(8).agents.order_by("-depth")[0]
    line = [int(member["id"]) for member in agent_selectors.agent_get(agent.pk)["ancestry"]]
    assert line[-1] == agent.pk
    assert Agent.objects.get(pk=line[0]).parents.count() == 0
    for parent, child in pairwise(line):
        assert [one.pk for one in Agent.objects.get(pk=child).parents.all()] == [parent]


def test_a_snapshot_is_strict_json_with_ids_as_strings() -> None:
    tournament = played(3)
    data = json.loads(json.dumps(selectors.snapshot(tournament.pk), allow_nan=False))
    assert data["tournament"]["id"] == str(tournament.pk)
    assert {item["agent"] for item in data["pods"]["items"]} >= set(data["curves"])
    assert all(isinstance(item["agent"], str) for item in data["leaderboard"]["items"])


def test_env_steps_and_progress_add_up_over_all_pods() -> None:
    tournament = making.tournament(pool={"size": 2}, stop={"pods": 4})
    making.finish(making.claim(), making.result(1.0, env_steps=3000))
    making.progress(making.claim(), making.point(500))
    read = selectors.tournament_get(tournament.pk)
    assert (read["env_steps"], read["env_steps_per_second"]) == (3500, 1000.0)
    assert read["progress"] == pytest.approx((1 + 500 / 100_000) / 4)
    assert read["seconds_left"] > 0


def test_a_pod_in_training_counts_with_its_share_of_the_round_and_at_the_pace_it_has() -> None:
    tournament = making.tournament(pool={"size": 1}, round={"env_steps": 2_000_000}, stop={"pods": 1})
    before = selectors.tournament_get(tournament.pk)
    assert (before["progress"], before["seconds_left"]) == (0.0, None)
    claimed = making.claim()
    making.progress(claimed, making.point(109_000))
    read = selectors.tournament_get(tournament.pk)
    assert read["progress"] == pytest.approx(0.0545)
    assert read["seconds_left"] == pytest.approx((2_000_000 - 109_000) / read["env_steps_per_second"])
    making.progress(claimed, making.point(2_000_100))
    assert selectors.tournament_get(tournament.pk)["progress"] == 0.999


def test_a_pod_whose_round_is_of_seconds_counts_with_those() -> None:
    tournament = making.tournament(pool={"size": 1}, round={"seconds": 40}, stop={"pods": 2})
    making.progress(making.claim(), making.point(10_000))
    assert selectors.tournament_get(tournament.pk)["progress"] == pytest.approx(10 / 40 / 2)


def test_a_generation_that_has_trained_its_seconds_and_is_evaluated_is_not_all_nor_more_of_its_budget() -> None:
    tournament = making.tournament(
        pool={"size": 4}, generator={"mode": "generational"}, round={"seconds": 9}, stop={"pods": 4}
    )
    for _ in range(4):
        making.progress(making.claim(), making.point(10_000))  # 10 seconds
    read = selectors.tournament_get(tournament.pk)
    assert read["progress"] == pytest.approx(0.999)
    assert read["seconds_left"] > 0


def test_progress_towards_a_target_is_the_best_scores_share_of_it() -> None:
    tournament = making.tournament(pool={"size": 1}, stop={"score": 400})
    assert selectors.tournament_get(tournament.pk)["progress"] is None
    making.finish(making.claim(), making.result(100.0))
    read = selectors.tournament_get(tournament.pk)
    assert (read["progress"], read["seconds_left"], read["target_score"]) == (0.25, None, 400.0)


def test_an_ended_tournament_counts_no_more_seconds() -> None:
    tournament = played(1)
    services.tournament_stop(tournament_id=tournament.pk)
    first, second = (selectors.tournament_get(tournament.pk) for _ in range(2))
    assert first["seconds"] == second["seconds"]
    assert (first["seconds_left"], first["status"]) == (None, "STOPPED")


def test_a_sparkline_is_the_latest_of_the_best_scores() -> None:
    tournament = making.tournament(start=False)
    Tournament.objects.update(best_history=[float(score) for score in range(100)])
    assert selectors.tournament_get(tournament.pk)["sparkline"] == [float(score) for score in range(40, 100)]


def test_what_is_not_there_is_not_read() -> None:
    assert (selectors.pods_get([1]), selectors.events_get([1]), selectors.revision_get(1)) == ([], [], None)
    with pytest.raises(Tournament.DoesNotExist):
        selectors.tournament_get(1)
    with pytest.raises(Agent.DoesNotExist):
        curve_selectors.agent_curve(1)


def test_workers_that_left_or_were_silent_have_no_slots() -> None:
    services.worker_seen(name="a", device_kind="cpu", slots=2)
    services.worker_seen(name="b", device_kind="cuda", slots=1)
    services.worker_seen(name="a", device_kind="cpu", slots=3)
    services.worker_gone(name="b")
    online = worker_selectors.slots_online()
    assert (online["cpu"], online["cuda"], [worker["name"] for worker in online["workers"]]) == (3, 0, ["a"])
