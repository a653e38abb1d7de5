"""Specifications that must get a clear answer: 422 with the field and a sentence, and nothing is stored."""

import json
from typing import Any

import pytest
from django.test import Client

from webapp.tournaments.models import Tournament


def refused(response: Any, status: int = 422) -> dict[str, str]:
    assert response.status_code == status, response.content
    assert Tournament.objects.count() == 0
    body = response.json()
    assert set(body) == {"errors"}
    return {error["field"]: error["message"] for error in body["errors"]}


def created(api: Client, data: Any, content_type: str = "application/json") -> Any:
    body = data if isinstance(data, str | bytes) else json.dumps(data)
    return api.post("/api/tournaments?start=true", body, content_type=content_type)


def space(**spaces: Any) -> dict[str, Any]:
    return {"env_id": "CartPole-v1", "algorithms": [{"name": "ppo", "search_space": spaces}]}


SPACE = "algorithms.0.search_space"


@pytest.mark.parametrize(
    ("data", "field", "says"),
    [
        ({}, "env_id", "CartPole-v1"),
        ({"env_id": 7}, "env_id", ""),
        ({"env_id": "CartPol-v1"}, "env_id", "CartPole-v1"),
        ({"env_id": "os:CartPole-v1"}, "env_id", "module"),
        ({"env_id": "CartPole-v1", "algorithms": [{"name": "magic"}]}, "algorithms.0.name", "ppo"),
        ({"env_id": "CartPole-v1", "algorithms": [{"name": ["ppo"]}]}, "algorithms.0.name", "ppo"),
        ({"env_id": "CartPole-v1", "algorithms": []}, "algorithms", ""),
        ({"env_id": "CartPole-v1", "algorithms": "ppo"}, "algorithms", ""),
        ({"env_id": "CartPole-v1", "algorithms": [{"name": "ppo"}] * 2}, "algorithms.1.name", "twice"),
        (space(learning_speed=0.1), f"{SPACE}.learning_speed", "learning_rate"),
        (space(learning_rate={"uniform": [0.1, 0.01]}), f"{SPACE}.learning_rate", "above"),
        (space(learning_rate={"loguniform": [0, 0.1]}), f"{SPACE}.learning_rate", "above 0"),
        (space(num_epochs={"choice": []}), f"{SPACE}.num_epochs", "empty"),
        (space(learning_rate={"normal": [0, 1]}), f"{SPACE}.learning_rate", "loguniform"),
        (space(learning_rate=-1.0), f"{SPACE}.learning_rate", "-1.0"),
        (space(num_minibatches=4096), f"{SPACE}.num_minibatches", "batch"),
        ({"env_id": "CartPole-v1", "pool": {"size": 0}}, "pool.size", "0"),
        ({"env_id": "CartPole-v1", "pool": {"size": 10**6}}, "pool.size", "1,024"),
        ({"env_id": "CartPole-v1", "pool": {"size": 10**6}, "seed": -1}, "seed", ""),
        ({"env_id": "CartPole-v1", "pool": {"device": "tpu"}}, "pool.device", "cuda"),
        ({"env_id": "CartPole-v1", "pool": {"device": "cuda"}}, "pool.device", "no worker"),
        ({"env_id": "CartPole-v1", "pool": {"num_envs": 0}}, "pool.num_envs", "65536"),
        ({"env_id": "CartPole-v1", "pool": {"speed": 1}}, "pool.speed", "size"),
        ({"env_id": "CartPole-v1", "stop": {"score": 501}}, "stop.score", "500"),
        ({"env_id": "CartPole-v1", "stop": {}}, "stop", ""),
        ({"env_id": "CartPole-v1", "generator": {"mode": "evolution"}}, "generator.mode", "generational"),
        ({"env_id": "CartPole-v1", "generator": {"strategies": {"clone": 1}}}, "generator.strategies", "crossover"),
        ({"env_id": "CartPole-v1", "generator": {"strategies": {"fresh": 0}}}, "generator.strategies", ""),
        ({"env_id": "CartPole-v1", "colour": "red"}, "colour", "env_id"),
        ({"env_id": "CartPole-v1", "name": "two\nlines \x07"}, "name", ""),
        ([], "", "table"),
        (None, "", "table"),
    ],
)
def test_a_bad_specification_names_its_field(api: Client, data: Any, field: str, says: str) -> None:
    errors = refused(created(api, data))
    assert field in errors, errors
    assert says in errors[field]


@pytest.mark.parametrize(
    ("env_id", "says"), [("Blackjack-v2", "Blackjack-v1"), ("ale_py:ALE/Pong-v5", "module"), ("x" * 300, "")]
)
def test_an_unknown_environment_is_refused(api: Client, env_id: str, says: str) -> None:
    assert says in refused(created(api, {"env_id": env_id}))["env_id"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    "body",
    [
        '{"env_id": "CartPole-v1", "stop": {"score": NUMBER}}',
        '{"env_id": "CartPole-v1", "round": {"seconds": NUMBER}}',
        '{"env_id": "CartPole-v1", "pool": {"size": NUMBER}}',
        '{"env_id": "CartPole-v1", "pool": {"num_envs": NUMBER}}',
        '{"env_id": "CartPole-v1", "seed": NUMBER}',
        '{"env_id": "CartPole-v1", "leaderboard": {"max_per_ancestor": NUMBER}}',
        '{"env_id": "CartPole-v1", "generator": {"strategies": {"fresh": NUMBER}}}',
        '{"env_id": "CartPole-v1", "algorithms": [{"search_space": {"gamma": NUMBER}}]}',
        '{"env_id": "CartPole-v1", "algorithms": [{"search_space": {"gamma": {"choice": [0.9, NUMBER]}}}]}',
        '{"env_id": "CartPole-v1", "algorithms": [{"search_space": {"gamma": {"uniform": [0.9, NUMBER]}}}]}',
    ],
)
def test_nan_and_infinities_are_refused_anywhere(api: Client, body: str, number: str) -> None:
    refused(created(api, body.replace("NUMBER", number)))
    if number != "1e999":
        toml = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[number]
        refused(created(api, f'env_id = "CartPole-v1"\n[stop]\nscore = {toml}', "application/toml"))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "application/json"),
        (b"{", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"seed": ' + b"9" * 10_000 + b"}", "application/json"),
        (b'env_id = "CartPole-v1"', "application/json"),
        (b'{"env_id": "CartPole-v1"}', "application/toml"),
        (b"env_id = 'a'\nenv_id = 'b'", "application/toml"),
        (b"\x00", "application/toml"),
    ],
)
def test_what_is_neither_json_nor_toml_is_refused_with_a_sentence(api: Client, body: bytes, content_type: str) -> None:
    message = refused(created(api, body, content_type))[""]
    assert "not valid" in message
    assert len(message) < 500


def test_a_specification_of_two_megabytes_is_refused(api: Client) -> None:
    message = refused(created(api, {"env_id": "CartPole-v1", "name": "x" * 2_000_000}))[""]
    assert "2,000" in message


def test_more_than_is_read_is_refused(api: Client) -> None:
    assert "2.5 MB" in refused(created(api, b" " * 3_000_000), 413)[""]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_another_content_type_is_told_which_ones_are_read(api: Client, content_type: str) -> None:
    assert "application/toml" in refused(created(api, b"env_id=CartPole-v1", content_type), 415)[""]


def test_every_error_of_a_specification_is_named_at_once(api: Client) -> None:
    data = {**space(gamma=2.0, speed=1), "pool": {"size": 0}, "seed": -1}
    assert set(refused(created(api, data))) == {f"{SPACE}.gamma", f"{SPACE}.speed", "pool.size", "seed"}


def test_start_takes_only_yes_or_no(api: Client) -> None:
    response = api.post("/api/tournaments?start=perhaps", '{"env_id": "CartPole-v1"}', content_type="application/json")
    assert set(refused(response)) == {"start"}
