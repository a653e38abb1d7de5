"""The REST API: every row of its table."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pydantic import BaseModel

from tests.webapp.tournaments import making
from webapp.tournaments import schemas
from webapp.tournaments.curves import csv_table
from webapp.tournaments.curves import schemas as curve_schemas
from webapp.tournaments.models import Agent, Pod, Tournament
from webapp.tournaments.workers import schemas as worker_schemas

JSON = "application/json"


def holds(model: type[BaseModel], response: Any) -> Any:
    """The answer's body, which is 200, strict JSON and of the documented shape."""
    assert response.status_code == 200, response.content
    body = json.loads(response.content, parse_constant=pytest.fail)
    model.model_validate_json(response.content)
    return body


def refused(response: Any, status: int = 422) -> dict[str, str]:
    """The errors by field of an answer that is refused with `status`."""
    assert response.status_code == status, response.content
    errors = response.json()["errors"]
    assert errors
    assert all(set(error) == {"field", "message"} and error["message"] for error in errors)
    return {error["field"]: error["message"] for error in errors}


def post(api: Client, path: str, data: Any = None) -> Any:
    return api.post(path, json.dumps(data), content_type=JSON)


def patch(api: Client, tournament: Tournament, data: Any) -> Any:
    return api.patch(f"/api/tournaments/{tournament.pk}", json.dumps(data), content_type=JSON)


def test_environments_are_listed_with_spaces_limits_and_solved_score(api: Client) -> None:
    body = holds(schemas.EnvironmentPage, api.get("/api/environments"))
    cartpole = next(item for item in body["items"] if item["id"] == "CartPole-v1")
    assert (cartpole["max_episode_steps"], cartpole["solved_score"]) == (500, 475)
    assert cartpole["observation_space"]["high"][1] is None  # an infinity
    assert body["count"] == len(body["items"])


def test_environments_come_in_pages(api: Client) -> None:
    body = api.get("/api/environments?limit=2&offset=1").json()
    assert [item["id"] for item in body["items"]] == ["Acrobot-v1", "MountainCar-v0"]
    assert body["count"] > 2


def test_a_json_specification_becomes_a_draft(api: Client, owner: User) -> None:
    response = post(api, "/api/tournaments", {"env_id": "Pendulum-v1", "name": "swing", "seed": 7})
    assert response.status_code == 201, response.content
    body = response.json()
    schemas.TournamentOut.model_validate_json(response.content)
    assert (body["name"], body["env_id"], body["status"], body["owner"]) == ("swing", "Pendulum-v1", "DRAFT", "owner")
    assert body["spec"]["seed"] == 7
    assert response["Location"] == f"/api/tournaments/{body['id']}"
    assert Pod.objects.count() == 0


def test_a_toml_specification_with_start_runs_and_fills_its_pool(api: Client) -> None:
    toml = """
        env_id = "CartPole-v1"
        [[algorithms]]
        name = "ppo"
        search_space.learning_rate = { loguniform = [1e-4, 3e-3] }
        [pool]
        size = 3
    """
    response = api.post("/api/tournaments?start=true", toml, content_type="application/toml; charset=utf-8")
    assert response.status_code == 201, response.content
    body = response.json()
    assert (body["status"], body["pool_size"], body["pods"]["QUEUED"]) == ("RUNNING", 3, 3)
    assert body["spec"]["algorithms"][0]["search_space"]["learning_rate"] == {"loguniform": [1e-4, 3e-3]}
    assert body["target_score"] is not None


def test_tournaments_are_listed_newest_first_in_pages(api: Client) -> None:
    for name in ("first", "second", "third"):
        making.tournament(name=name, start=False)
    body = holds(schemas.TournamentPage, api.get("/api/tournaments?limit=2&offset=1"))
    assert ([item["name"] for item in body["items"]], body["count"]) == (["second", "first"], 3)


def test_a_tournament_shows_its_pods_score_and_specification(api: Client) -> None:
    tournament = making.tournament(pool={"size": 2})
    making.finish(making.claim(), making.result(42.0))
    body = holds(schemas.TournamentOut, api.get(f"/api/tournaments/{tournament.pk}"))
    assert (body["best_score"], body["env_steps"], body["sparkline"]) == (42.0, 1000, [42.0])
    assert body["pods"] == {"QUEUED": 2, "RUNNING": 0, "FINISHED": 1, "FAILED": 0, "STOPPED": 0}
    assert body["spec"]["env_id"] == "CartPole-v1"


def test_a_tournament_can_be_started_paused_resumed_and_stopped(api: Client) -> None:
    tournament = making.tournament(start=False)
    states = []
    for verb in ("start", "pause", "resume", "stop"):
        body = holds(schemas.TournamentOut, api.post(f"/api/tournaments/{tournament.pk}/{verb}"))
        states.append(body["status"])
    assert states == ["RUNNING", "PAUSED", "RUNNING", "STOPPED"]


@pytest.mark.parametrize("verb", ["start", "pause", "resume", "stop"])
def test_a_stopped_tournament_refuses_every_control_with_a_sentence(api: Client, verb: str) -> None:
    tournament = making.tournament()
    api.post(f"/api/tournaments/{tournament.pk}/stop")
    message = refused(api.post(f"/api/tournaments/{tournament.pk}/{verb}"), 409)[""]
    assert "STOPPED" in message


def test_a_patch_renames_resizes_and_reprioritises(api: Client) -> None:
    tournament = making.tournament(pool={"size": 2})
    response = patch(api, tournament, {"name": "renamed", "pool_size": 4, "priority": -3})
    body = holds(schemas.TournamentOut, response)
    assert (body["name"], body["pool_size"], body["priority"]) == ("renamed", 4, -3)
    assert body["pods"]["QUEUED"] == 4


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"pool_size": 0}, "pool_size"),
        ({"pool_size": 100_000}, "pool_size"),
        ({"pool_size": "3"}, "pool_size"),
        ({"pool_size": True}, "pool_size"),
        ({"pool_size": 2.0}, "pool_size"),
        ({"priority": 101}, "priority"),
        ({"priority": 10**30}, "priority"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"name": "nul \x00"}, "name"),
        ({"name": 3}, "name"),
        ({"status": "FINISHED"}, "status"),
        ([], ""),
        (None, ""),
    ],
)
def test_a_patch_with_a_bad_value_names_its_field_and_changes_nothing(api: Client, data: Any, field: str) -> None:
    tournament = making.tournament()
    assert field in refused(patch(api, tournament, data))
    after = Tournament.objects.get()
    assert (after.name, after.pool_size, after.priority) == (tournament.name, tournament.pool_size, tournament.priority)


def test_the_pool_of_an_ended_tournament_cannot_change(api: Client) -> None:
    tournament = making.tournament()
    api.post(f"/api/tournaments/{tournament.pk}/stop")
    refused(patch(api, tournament, {"pool_size": 5}), 409)


@pytest.mark.django_db(transaction=True)
def test_a_deleted_tournament_is_gone_with_its_files(api: Client) -> None:
    from django.core.files.storage import default_storage

    tournament = making.tournament()
    claimed = making.claim()
    files = making.stored_checkpoint(claimed, b"weights", "0" * 64)
    making.finish(claimed, files=files)
    response = api.delete(f"/api/tournaments/{tournament.pk}")
    assert (response.status_code, response.content) == (204, b"")
    assert api.get(f"/api/tournaments/{tournament.pk}").status_code == 404
    assert not default_storage.exists(files.checkpoint_file)
    assert Agent.objects.count() == 0


def test_the_leaderboard_is_listed_best_first_with_lineage(api: Client) -> None:
    tournament = making.tournament(generator={"strategies": {"exploit": 1}}, leaderboard={"max_per_ancestor": 1})
    for score in (10.0, 30.0, 20.0):
        making.finish(making.claim(), making.result(score))
    body = holds(schemas.LeaderboardPage, api.get(f"/api/tournaments/{tournament.pk}/leaderboard"))
    assert [(item["rank"], item["score"], item["kind"]) for item in body["items"]] == [
        (1, 30.0, "agent"),
        (2, 20.0, "agent"),
        (3, 10.0, "agent"),
    ]
    child = next(item for item in body["items"] if item["score"] == 20.0)
    parent = next(item for item in body["items"] if item["score"] == 10.0)
    assert (child["parents"], child["parent_names"], child["strategy"]) == (
        [parent["agent"]],
        [parent["name"]],
        "exploit",
    )
    assert child["total_env_steps"] == child["env_steps"] + parent["env_steps"]
    page = api.get(f"/api/tournaments/{tournament.pk}/leaderboard?limit=1&offset=2").json()
    assert (page["items"][0]["score"], page["count"]) == (10.0, 3)


def test_pods_and_events_are_listed_newest_first(api: Client) -> None:
    tournament = making.tournament(pool={"size": 2})
    claimed = making.claim(worker="host-1", slot=1)
    pods = holds(schemas.PodPage, api.get(f"/api/tournaments/{tournament.pk}/pods"))
    assert [item["status"] for item in pods["items"]] == ["QUEUED", "RUNNING"]
    assert (pods["items"][1]["worker"], pods["items"][1]["attempt"]) == ("host-1", 1)
    making.finish(claimed)
    events = holds(schemas.EventPage, api.get(f"/api/tournaments/{tournament.pk}/events"))
    assert [item["kind"] for item in events["items"]] == ["agent_entered", "tournament_started"]
    assert events["items"][0]["agent"] == str(claimed.agent_id)


def test_an_agent_shows_its_hyperparameters_score_and_log(api: Client) -> None:
    making.tournament()
    claimed = making.claim()
    making.finish(claimed, making.result(9.0, confirmed=8.0))
    body = holds(schemas.AgentOut, api.get(f"/api/agents/{claimed.agent_id}"))
    assert (body["status"], body["score"], body["rank"], body["checkpoint"]) == ("FINISHED", 9.0, 1, None)
    assert body["hyperparameters"]["num_steps"] == 32
    assert body["confirmation"]["episodes"] == 100
    assert [member["id"] for member in body["ancestry"]] == [body["id"]]


def table_of(answer: Any) -> list[str]:
    return b"".join(answer.streaming_content).decode().splitlines()


def test_a_curve_comes_whole_thinned_and_as_csv(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    making.tournament()
    claimed = making.claim()
    making.progress(claimed, *(making.point(step, float(step % 7), entropy=0.5) for step in range(100, 60_100, 100)))
    path = f"/api/agents/{claimed.agent_id}/curve"
    whole = holds(curve_schemas.CurveOut, api.get(f"{path}?points=all"))
    assert len(whole["env_steps"]) == 600
    assert set(whole) == {"env_steps", "seconds", "episodic_return", "entropy"}
    few = holds(curve_schemas.CurveOut, api.get(f"{path}?points=50"))
    assert 10 <= len(few["env_steps"]) <= 60
    assert (few["env_steps"][0], few["env_steps"][-1]) == (100, 60_000)
    csv = api.get(path, headers={"accept": "text/csv"})
    assert csv["Content-Type"].startswith("text/csv")
    assert table_of(csv)[:2] == ["env_steps,seconds,episodic_return,entropy", "100,0.1,2.0,0.5"]
    monkeypatch.setattr(csv_table, "BATCH", 7)
    pieces = list(csv_table.line_csv([claimed.agent_id]))
    assert max(piece.count("\n") for piece in pieces) == 7
    assert table_of(api.get(f"{path}?points=all&format=csv")) == "".join(pieces).splitlines()
    assert len("".join(pieces).splitlines()) == 601


def test_a_curve_from_the_ancestor_counts_on(api: Client) -> None:
    making.tournament(pool={"size": 1}, generator={"strategies": {"exploit": 1}})
    first = making.claim()
    making.progress(first, making.point(500), making.point(1000))
    making.finish(first)
    second = making.claim()
    making.progress(second, making.point(300, None, entropy=0.5))
    path = f"/api/agents/{second.agent_id}/curve"
    assert api.get(path).json()["env_steps"] == [300]
    assert api.get(f"{path}?from=ancestor").json()["env_steps"] == [500, 1000, 1300]
    table = ["env_steps,seconds,episodic_return,entropy", "500,0.5,1.0,", "1000,1.0,1.0,", "1300,1.3,,0.5"]
    for points in ("all", "500"):
        assert table_of(api.get(f"{path}?from=ancestor&format=csv&points={points}")) == table


def test_an_agent_without_points_has_empty_columns(api: Client) -> None:
    making.tournament()
    body = holds(curve_schemas.CurveOut, api.get(f"/api/agents/{making.claim().agent_id}/curve?from=ancestor"))
    assert body == {"env_steps": [], "seconds": [], "episodic_return": []}


def test_nan_in_a_curve_is_null(api: Client) -> None:
    making.tournament()
    claimed = making.claim()
    making.progress(claimed, making.point(10, 1.0, entropy=0.5), making.point(20, float("nan"), entropy=float("inf")))
    body = holds(curve_schemas.CurveOut, api.get(f"/api/agents/{claimed.agent_id}/curve"))
    assert (body["episodic_return"], body["entropy"]) == ([1.0, None], [0.5, None])
    holds(schemas.PodPage, api.get(f"/api/tournaments/{claimed.tournament_id}/pods"))


def test_workers_and_slots_online_are_shown(api: Client) -> None:
    from webapp.tournaments import services

    services.worker_seen(name="host-1", device_kind="cpu", slots=2)
    body = holds(worker_schemas.SlotsOut, api.get("/api/workers"))
    assert (body["cpu"], body["cuda"], body["workers"][0]["name"]) == (2, 0, "host-1")


@pytest.mark.parametrize("missing", ["0", "99999999", "9" * 30, "abc", "-1", "1.5", "%00", "²"])
def test_what_does_not_exist_is_a_404_with_a_sentence(api: Client, missing: str) -> None:
    for path in (
        f"tournaments/{missing}",
        f"tournaments/{missing}/leaderboard",
        f"tournaments/{missing}/pods",
        f"tournaments/{missing}/events",
        f"agents/{missing}",
        f"agents/{missing}/curve",
        f"agents/{missing}/checkpoint",
    ):
        message = refused(api.get(f"/api/{path}"), 404)[""]
        assert message.startswith("There is no "), message
    refused(api.post(f"/api/tournaments/{missing}/start"), 404)
    refused(api.delete(f"/api/tournaments/{missing}"), 404)
    refused(api.patch(f"/api/tournaments/{missing}", "{}", content_type=JSON), 404)


def test_an_unknown_address_below_api_is_a_404_with_a_sentence(api: Client) -> None:
    assert "/api/docs" in refused(api.get("/api/tournament"), 404)[""]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=NaN", "limit"),
        ("offset=-1", "offset"),
        ("offset=1e99", "offset"),
        ("offset=99999999999999999999", "offset"),
    ],
)
def test_a_bad_page_names_its_parameter(api: Client, query: str, field: str) -> None:
    tournament = making.tournament(start=False)
    for path in ("tournaments", "environments", f"tournaments/{tournament.pk}/pods"):
        assert set(refused(api.get(f"/api/{path}?{query}"))) == {field}


@pytest.mark.parametrize("query", ["points=0", "points=-5", "points=many", "points=1e9", "from=nowhere"])
def test_a_bad_curve_query_is_refused(api: Client, query: str) -> None:
    making.tournament()
    field = query.partition("=")[0]
    errors = refused(api.get(f"/api/agents/{making.claim().agent_id}/curve?{query}"))
    assert all(name.startswith(field) for name in errors), errors


def test_the_documentation_needs_no_other_host_and_shows_the_specification(api: Client) -> None:
    schema = api.get("/api/openapi.json").json()
    body = schema["paths"]["/api/tournaments"]["post"]["requestBody"]["content"]
    assert set(body) == {"application/json", "application/toml"}
    assert body["application/json"]["schema"] == {"$ref": "#/components/schemas/TournamentSpec"}
    parts = schema["components"]["schemas"]
    assert "env_id" in parts["TournamentSpec"]["required"]
    assert any("loguniform" in kind.get("properties", {}) for kind in parts["SearchSpace"]["anyOf"])
    for name in _references(schema):
        assert name.rpartition("/")[2] in parts, name
    page = api.get("/api/docs").content.decode()
    assert "swagger" in page
    assert "cdn" not in page


def _references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(_references, node.values()))
    if isinstance(node, list):
        return set().union(*map(_references, node))
    return set()
