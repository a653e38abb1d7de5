"""Lineage, hyperparameters and the use of slots: what they answer, in as many queries for many agents as for few."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import holds, refused
from webapp.tournaments import services
from webapp.tournaments.insights import insights, occupancy
from webapp.tournaments.insights import schemas as insight_schemas
from webapp.tournaments.insights.occupancy import clipped, length, length_outside, union
from webapp.tournaments.models import Agent, LeaderboardEntry, Pod, Tournament

pytestmark = pytest.mark.django_db

SPACE = {"learning_rate": {"loguniform": [1e-4, 1e-2]}, "clip_coef": {"choice": [0.1, 0.2, 0.3]}}


def race(pods: int, *, exploit: float = 1.0, name: str = "race") -> Tournament:
    """A tournament whose pods have finished one after another, each better than the last."""
    strategies = {"exploit": exploit, "fresh": 1.0 - exploit}
    tournament = making.tournament(
        name=name,
        algorithms=[{"name": "ppo", "search_space": SPACE}],
        pool={"size": 1},
        generator={"strategies": strategies},
        leaderboard={"max_per_ancestor": 1, "size": 50},
    )
    for score in range(pods):
        making.finish(making.claim(), making.result(float(score)))
    return tournament


def queries(function: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        function()
    return len(captured)


@pytest.mark.parametrize("read", [insights.lineage_get, insights.hyperparameters_get, occupancy.slots_get])
def test_many_agents_take_as_many_queries_as_few(read: Callable[[int], Any]) -> None:
    few, many = race(2, name="few"), race(9, name="many")
    assert queries(lambda: read(few.pk)) == queries(lambda: read(many.pk))


def rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    assert len({len(column) for column in columns.values()}) == 1
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_the_lineage_holds_every_agent_with_its_parents_and_leads_to_the_champion(api: Client) -> None:
    tournament = race(6)
    body = holds(insight_schemas.LineageOut, api.get(f"/api/tournaments/{tournament.pk}/lineage"))
    found = {row["id"]: row for row in rows(body["agents"])}
    assert len(found) == tournament.agents.count()
    best = LeaderboardEntry.objects.get(tournament=tournament, rank=1).agent
    assert body["champion"] == str(best.pk)
    for agent in tournament.agents.all():
        row = found[str(agent.pk)]
        assert row["parents"] == [str(parent.pk) for parent in agent.parents.all()]
        assert row["inherits_from"] == (str(agent.inherits_from_id) if agent.inherits_from_id else None)
        assert (row["status"], row["score"]) == (agent.pod.status, agent.score)
    line = [found[body["champion"]]]
    while line[-1]["inherits_from"]:
        line.append(found[line[-1]["inherits_from"]])
    assert [row["depth"] for row in line] == list(range(best.depth, -1, -1))
    assert all(row["began"] is not None and row["ended"] >= row["began"] for row in line)


def test_hyperparameters_that_differ_are_axes_with_their_search_space(api: Client) -> None:
    tournament = race(6)
    body = holds(insight_schemas.HyperparametersOut, api.get(f"/api/tournaments/{tournament.pk}/hyperparameters"))
    (ppo,) = body["algorithms"]
    axes = {axis["name"]: axis for axis in ppo["axes"]}
    assert axes.keys() <= SPACE.keys()
    assert (axes["learning_rate"]["kind"], axes["learning_rate"]["space"]) == ("loguniform", [1e-4, 1e-2])
    given = {str(agent.pk): agent.hyperparameters for agent in tournament.agents.all()}
    told = dict(zip(ppo["agents"]["id"], axes["learning_rate"]["values"], strict=True))
    assert told == {key: values["learning_rate"] for key, values in given.items()}
    assert (
        ppo["importance"]["problem"]
        == "Needs 20 scored agents of 5 founders, since kin resemble each other; so far there are 6 of 1."
    )
    assert ppo["importance"]["items"] == []


def test_agents_from_before_there_was_a_hyperparameter_count_as_with_its_default(api: Client) -> None:
    tournament = race(2)
    for agent in tournament.agents.all():
        del agent.hyperparameters["gae_lambda"]
        agent.save()
    body = holds(insight_schemas.HyperparametersOut, api.get(f"/api/tournaments/{tournament.pk}/hyperparameters"))
    names = {axis["name"] for axis in body["algorithms"][0]["axes"]}
    assert names
    assert "gae_lambda" not in names


def test_importance_is_told_of_what_was_searched_once_there_are_agents_enough(api: Client) -> None:
    tournament = race(24, exploit=0.0)
    for agent in tournament.agents.filter(score__isnull=False):
        agent.score = -abs(agent.hyperparameters["learning_rate"] - 0.002)
        agent.save()
    body = holds(insight_schemas.HyperparametersOut, api.get(f"/api/tournaments/{tournament.pk}/hyperparameters"))
    importance = body["algorithms"][0]["importance"]
    assert (importance["problem"], importance["agents"], importance["founders"]) == (None, 24, 24)
    assert {item["name"] for item in importance["items"]} == SPACE.keys()
    assert importance["items"][0]["name"] == "learning_rate"
    assert importance["items"][0]["low"] > 0.2


def test_the_schedule_of_a_line_joins_what_each_of_it_trained_with(api: Client) -> None:
    tournament = race(5)
    agent = tournament.agents.filter(score__isnull=False).order_by("-depth")[0]
    body = holds(insight_schemas.ScheduleOut, api.get(f"/api/agents/{agent.pk}/schedule"))
    segments = rows(body["segments"])
    assert [row["begin"] for row in segments[1:]] == [row["end"] for row in segments[:-1]]
    assert (segments[0]["begin"], segments[-1]["end"]) == (0, agent.base_env_steps + agent.env_steps)
    line = [Agent.objects.get(pk=row["agent"]) for row in segments]
    assert (line[0].depth, line[-1]) == (0, agent)
    for axis in body["axes"]:
        if axis["name"] != "num_envs":
            assert axis["values"] == [member.hyperparameters[axis["name"]] for member in line]
    varied = [len(set(axis["values"])) > 1 for axis in body["axes"]]
    assert varied == sorted(varied, reverse=True)
    champion = holds(insight_schemas.HyperparametersOut, api.get(f"/api/tournaments/{tournament.pk}/hyperparameters"))
    assert champion["schedule"]["agent"] == api.get(f"/api/tournaments/{tournament.pk}").json()["best_agent"]


def test_the_schedule_of_a_late_descendant_takes_as_many_queries_as_that_of_a_founder() -> None:
    tournament = race(7)
    first, last = (tournament.agents.filter(score__isnull=False).order_by(key)[0].pk for key in ("depth", "-depth"))
    assert queries(lambda: insights.schedule_get(first)) == queries(lambda: insights.schedule_get(last))


def test_what_a_running_pod_has_trained_so_far_is_in_its_schedule() -> None:
    tournament = race(1)
    claimed = making.claim()
    making.progress(claimed, making.point(400))
    found = insights.schedule_get(claimed.agent_id)
    assert found["segments"]["end"][-1] == tournament.agents.get(pk=claimed.agent_id).base_env_steps + 400


def moved(tournament: Tournament, seconds: float) -> None:
    """As if the tournament had started so many seconds earlier."""
    since = timedelta(seconds=seconds)
    started = Tournament.objects.get(pk=tournament.pk).started_at
    assert started
    Tournament.objects.filter(pk=tournament.pk).update(started_at=started - since)


def placed(pod: Pod, begin: float, end: float) -> None:
    """As if the pod had run from `begin` to `end`, in seconds since its tournament's start."""
    started = Tournament.objects.get(pk=pod.tournament_id).started_at
    assert started
    times = [started + timedelta(seconds=moment) for moment in (begin, end)]
    Pod.objects.filter(pk=pod.pk).update(claimed_at=times[0], finished_at=times[1])


def test_slots_show_their_pods_and_how_much_of_the_time_they_were_busy(api: Client) -> None:
    tournament = making.tournament(pool={"size": 2}, stop={"pods": 4})
    for slot in (0, 1, 0, 1):
        making.finish(making.claim(slot=slot), making.result(1.0))
    moved(tournament, 100)
    for pod, (begin, end) in zip(tournament.pods.order_by("pk"), [(0, 40), (0, 90), (50, 100), (90, 100)], strict=True):
        placed(pod, begin, end)
    Tournament.objects.filter(pk=tournament.pk).update(
        finished_at=Tournament.objects.get(pk=tournament.pk).started_at + timedelta(seconds=100)
    )
    body = holds(insight_schemas.SlotUseOut, api.get(f"/api/tournaments/{tournament.pk}/slots"))
    assert (body["slots"]["slot"], body["slots"]["busy"]) == ([0, 1], [pytest.approx(0.9), pytest.approx(1.0)])
    assert (body["busy"], body["idle_seconds"]) == (pytest.approx(0.95), pytest.approx(10))
    assert (body["seconds"], body["live"], body["attempts"], body["attempts_shown"]) == (100, False, 4, 4)
    bars = [(row["row"], row["begin"], row["end"], row["status"]) for row in rows(body["bars"])]
    assert bars[0] == (0, 0, 40, "FINISHED")


def test_a_slot_that_ran_pods_of_another_tournament_was_not_idle_and_a_pause_is_no_idleness() -> None:
    tournament, other = making.tournament(pool={"size": 1}), making.tournament(name="other", pool={"size": 1})
    mine, theirs = making.claim(), making.claim()
    making.finish(mine, making.result(1.0))
    making.finish(theirs, making.result(1.0))
    services.tournament_pause(tournament_id=tournament.pk)
    services.tournament_stop(tournament_id=tournament.pk)
    services.tournament_stop(tournament_id=other.pk)
    for race_, seconds in ((tournament, 100), (other, 100)):
        moved(race_, seconds)
    placed(Pod.objects.get(pk=mine.pod_id), 0, 50)
    placed(Pod.objects.get(pk=theirs.pod_id), 50, 60)
    start = Tournament.objects.get(pk=tournament.pk).started_at
    assert start
    tournament.events.filter(kind="paused").update(at=start + timedelta(seconds=80))
    Tournament.objects.filter(pk=tournament.pk).update(finished_at=start + timedelta(seconds=100))
    found = occupancy.slots_get(tournament.pk)
    assert found["pauses"] == {"begin": [80], "end": [100]}
    assert found["slots"]["busy"] == [pytest.approx(50 / 80)]
    assert found["slots"]["elsewhere"] == [pytest.approx(10 / 80, abs=0.01)]
    assert found["idle_seconds"] == pytest.approx(20, abs=1)


def test_only_the_last_attempt_is_shown_and_the_others_are_counted() -> None:
    tournament = making.tournament(pool={"size": 1})
    making.finish(making.claim(), making.failure("The worker was lost.", retryable=True))
    claimed = making.claim(slot=3)
    found = occupancy.slots_get(tournament.pk)
    assert (found["attempts"], found["attempts_shown"]) == (2, 1)
    assert (found["slots"]["slot"], found["bars"]["attempt"]) == ([3], [2])
    assert found["bars"]["end"] == [found["seconds"]]
    assert found["bars"]["agent"] == [str(claimed.agent_id)]


def test_slots_online_that_ran_nothing_yet_are_shown_while_the_tournament_runs() -> None:
    tournament = making.tournament(pool={"size": 1})
    services.worker_seen(name="worker", device_kind="cpu", slots=2)
    services.worker_seen(name="gpus", device_kind="cuda", slots=2)
    making.claim()
    found = occupancy.slots_get(tournament.pk)
    assert list(zip(found["slots"]["worker"], found["slots"]["slot"], strict=True)) == [("worker", 0), ("worker", 1)]
    assert found["slots"]["busy"][1] is None
    services.tournament_stop(tournament_id=tournament.pk)
    assert occupancy.slots_get(tournament.pk)["slots"]["slot"] == [0]


@pytest.mark.parametrize("part", ["lineage", "hyperparameters", "slots"])
def test_a_draft_has_nothing_to_show_and_a_tournament_that_is_not_there_is_404(api: Client, part: str) -> None:
    draft = making.tournament(start=False)
    body = json.loads(api.get(f"/api/tournaments/{draft.pk}/{part}").content, parse_constant=pytest.fail)
    lists = body.get("agents") or body.get("bars") or {"": body.get("algorithms")}
    assert all(column == [] for column in lists.values())
    assert refused(api.get(f"/api/tournaments/987654/{part}"), 404)[""] == "There is no tournament 987654."


def test_the_schedule_of_an_agent_that_is_not_there_is_404(api: Client) -> None:
    assert refused(api.get("/api/agents/987654/schedule"), 404)


INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda pair: tuple(sorted(pair))))


def seconds_in(intervals: Any) -> set[int]:
    return {second for begin, end in intervals for second in range(begin, end)}


@given(INTERVALS, INTERVALS, st.integers(0, 40), st.integers(0, 40))
def test_intervals_hold_the_seconds_that_are_in_them(first: Any, second: Any, low: int, high: int) -> None:
    inside = seconds_in(first)
    assert seconds_in(union(first)) == inside
    assert all(after[0] > before[1] for before, after in zip(union(first), union(first)[1:], strict=False))
    assert length(first) == len(inside)
    assert length_outside(first, second) == len(inside - seconds_in(second))
    assert seconds_in(clipped(first, low, high)) == {one for one in inside if low <= one < high}
