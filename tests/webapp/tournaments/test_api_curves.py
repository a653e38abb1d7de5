"""The curves of a tournament over the API: windows, statistics, and the whole as a table."""

import csv
import io
from typing import Any

import pytest
from django.test import Client

from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import holds, refused
from webapp.tournaments.curves import schemas as curve_schemas
from webapp.tournaments.models import Agent, Tournament


def text_of(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode()


@pytest.fixture
def race(owner: object) -> Tournament:
    """Two pods, one of which diverged for a while and reports a loss."""
    tournament = making.tournament(pool={"size": 2}, round={"env_steps": 100})
    first, second = making.claim(), making.claim(slot=1)
    making.progress(first, making.point(10, 1.0, value_loss=0.5), making.point(20, float("nan")), making.point(30, 3.0))
    making.progress(second, making.point(10, 5.0), making.point(20, 7.0))
    Agent.objects.filter(pk=second.agent_id).update(base_env_steps=100, depth=1)
    return tournament


def test_curves_come_with_where_they_lie(api: Client, race: Tournament) -> None:
    body = holds(curve_schemas.TournamentCurves, api.get(f"/api/tournaments/{race.pk}/curves"))
    first, second = body["curves"].values()
    assert (first["env_steps"], first["episodic_return"]) == ([10, 20, 30], [1.0, None, 3.0])
    assert (second["base_env_steps"], second["depth"], second["round_env_steps"]) == (100, 1, 100)


@pytest.mark.parametrize(
    ("window", "drawn"),
    [
        ("from=105", [[10, 20]]),
        ("to=15", [[10, 20]]),
        ("axis=depth&from=0.05&to=0.25", [[10, 20, 30]]),
        ("axis=depth&from=1", [[10, 20]]),
        ("axis=time&from=0&to=1e6", [[10, 20, 30], [10, 20]]),
    ],
)
def test_a_window_is_answered_with_a_neighbour_at_each_end(
    api: Client, race: Tournament, window: str, drawn: list[list[int]]
) -> None:
    body = holds(curve_schemas.TournamentCurves, api.get(f"/api/tournaments/{race.pk}/curves?{window}"))
    assert [curve["env_steps"] for curve in body["curves"].values()] == drawn


def test_statistics_are_columns_at_equal_steps(api: Client, race: Tournament) -> None:
    address = f"/api/tournaments/{race.pk}/curves/statistics"
    body = holds(curve_schemas.CurveStatistics, api.get(f"{address}?from=10&to=30&points=3"))
    assert (body["x"], body["mean"], body["pods"]) == ([10.0, 20.0, 30.0], [1.0, 2.0, 3.0], [1, 1, 1])
    assert holds(curve_schemas.CurveStatistics, api.get(address))["best"][-1] == 7.0


def test_the_table_has_every_point_and_an_empty_cell_for_what_is_not_known(api: Client, race: Tournament) -> None:
    answer = api.get(f"/api/tournaments/{race.pk}/curves?format=csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert f"tournament-{race.pk}-curves.csv" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(text_of(answer))))
    assert list(rows[0]) == [
        "agent",
        "name",
        "env_steps",
        "total_env_steps",
        "seconds",
        "episodic_return",
        "value_loss",
    ]
    assert [row["episodic_return"] for row in rows] == ["1.0", "", "3.0", "5.0", "7.0"]
    assert [row["value_loss"] for row in rows] == ["0.5", "", "", "", ""]
    assert [row["total_env_steps"] for row in rows] == ["10", "20", "30", "110", "120"]
    assert rows[0]["name"] == Agent.objects.get(pk=rows[0]["agent"]).name


def test_a_draft_has_an_empty_table_and_no_curves(api: Client, owner: object) -> None:
    draft = making.tournament(start=False)
    assert text_of(api.get(f"/api/tournaments/{draft.pk}/curves?format=csv")).splitlines() == [
        "agent,name,env_steps,total_env_steps,seconds,episodic_return"
    ]
    assert holds(curve_schemas.TournamentCurves, api.get(f"/api/tournaments/{draft.pk}/curves"))["curves"] == {}
    assert holds(curve_schemas.CurveStatistics, api.get(f"/api/tournaments/{draft.pk}/curves/statistics"))["x"] == []


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("from=5&to=5", "to", "above from = 5"),
        ("from=nan", "from", "finite"),
        ("to=inf", "to", "finite"),
        ("from=here", "from", "number"),
        ("points=1", "points", "2 to"),
        ("axis=wall", "axis", "steps"),
    ],
)
def test_a_window_that_is_none_is_refused_by_name(
    api: Client, race: Tournament, query: str, field: str, says: str
) -> None:
    for part in ("curves", "curves/statistics"):
        errors = refused(api.get(f"/api/tournaments/{race.pk}/{part}?{query}"))
        assert says in errors[field]


def test_curves_of_a_tournament_that_is_not_there(api: Client, owner: object) -> None:
    for part in ("curves", "curves/statistics", "curves?format=csv"):
        refused(api.get(f"/api/tournaments/999/{part}"), 404)
