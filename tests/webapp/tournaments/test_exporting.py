"""A whole tournament in one file: complete, strict JSON, and in pieces."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.tournaments import making
from webapp.tournaments import exporting
from webapp.tournaments.models import Tournament

pytestmark = pytest.mark.django_db


def played(pods: int) -> Tournament:
    tournament = making.tournament(name="whole", pool={"size": 1}, stop={"pods": pods})
    for number in range(pods):
        claimed = making.claim()
        making.progress(claimed, making.point(100, 1.0 + number, value_loss=0.5), making.point(200, float("nan")))
        making.finish(claimed, making.result(10.0 * number))
    return tournament


def test_everything_that_the_api_knows_is_in_it(owner: User, api: Client) -> None:
    tournament = played(4)
    response = api.get(f"/api/tournaments/{tournament.pk}/export")
    assert response.status_code == 200
    assert response["Content-Disposition"] == f'attachment; filename="tournament-{tournament.pk}.json"'
    whole = json.loads(b"".join(response.streaming_content), parse_constant=pytest.fail)
    path = f"/api/tournaments/{tournament.pk}"
    assert whole["tournament"]["spec"] == api.get(path).json()["spec"]
    assert whole["leaderboard"] == api.get(f"{path}/leaderboard").json()["items"]
    assert whole["events"] == api.get(f"{path}/events").json()["items"][::-1]
    assert [agent["index"] for agent in whole["agents"]] == [0, 1, 2, 3]
    for agent in whole["agents"]:
        alone = api.get(f"/api/agents/{agent['id']}").json()
        same = ("name", "hyperparameters", "strategy", "changes", "status", "score", "returns", "env_steps")
        assert {name: agent[name] for name in same} == {name: alone[name] for name in same}
        assert agent["parents"] == [parent["id"] for parent in alone["parents"]]
        assert agent["curve"] == api.get(f"/api/agents/{agent['id']}/curve?points=all").json()


def test_many_agents_take_few_queries(django_assert_max_num_queries: object) -> None:
    tournament = played(12)
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        whole = json.loads("".join(exporting.tournament_json(tournament.pk)))
    assert len(whole["agents"]) == 12


def test_a_tournament_that_is_not_there_is_404(owner: User, api: Client) -> None:
    assert api.get("/api/tournaments/999/export").status_code == 404
