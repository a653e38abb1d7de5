"""A tournament as a zip of TensorBoard's event files."""

import io
import zipfile
from typing import Any

import pytest
from django.test import Client

from tests.event_files import Read, read
from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import refused
from webapp.tournaments.curves.tensorboard import tournament_tensorboard
from webapp.tournaments.models import Agent, Tournament

pytestmark = pytest.mark.django_db


def played(pods: int, points: int = 2) -> Tournament:
    fresh = {"generator": {"strategies": {"fresh": 1}}, "leaderboard": {"size": 2, "eval_episodes": 4}}
    tournament = making.tournament(pool={"size": 1}, stop={"pods": pods + 1}, **fresh)
    for number in range(pods):
        claimed = making.claim()
        curve = [making.point(10 * (place + 1), float(number), value_loss=0.5) for place in range(points)]
        making.progress(claimed, *curve)
        making.finish(claimed, making.result(10.0 * number))
    return tournament


def runs_of(content: bytes) -> dict[str, Read]:
    """By folder."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name.rpartition("/")[0]: read(archive.read(name)) for name in archive.namelist()}


def downloaded(api: Client, tournament: Tournament) -> dict[str, Read]:
    answer: Any = api.get(f"/api/tournaments/{tournament.pk}/export?format=tensorboard")
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == f'attachment; filename="tournament-{tournament.pk}-tensorboard.zip"'
    content = b"".join(answer.streaming_content)
    assert answer["Content-Length"] == str(len(content))
    return runs_of(content)


def test_every_agent_is_a_run_named_by_its_rank(api: Client) -> None:
    tournament = played(3)
    found = downloaded(api, tournament)
    worst, second, best, waiting = Agent.objects.order_by("index")
    top = f"tournament-{tournament.pk}"
    assert set(found) == {
        f"{top}/board/1-{best.name}",
        f"{top}/board/2-{second.name}",
        f"{top}/others/{worst.name}",
        f"{top}/others/{waiting.name}",
    }
    assert found[f"{top}/others/{waiting.name}"].scalars == {}


def test_a_run_holds_curve_losses_score_and_hyperparameters(api: Client) -> None:
    tournament = played(1)
    agent = Agent.objects.get(index=0)
    Agent.objects.filter(pk=agent.pk).update(base_env_steps=100)
    run = downloaded(api, tournament)[f"tournament-{tournament.pk}/board/1-{agent.name}"]
    began, scored = agent.pod.started_at, agent.scored_at
    assert began is not None
    assert scored is not None
    curve = api.get(f"/api/agents/{agent.pk}/curve?points=all").json()
    assert run.scalars["training/episodic_return"] == [
        (pytest.approx(began.timestamp() + seconds), 100 + env_steps, value)
        for env_steps, seconds, value in zip(
            curve["env_steps"], curve["seconds"], curve["episodic_return"], strict=True
        )
    ]
    assert [value for *_, value in run.scalars["learner/value_loss"]] == [0.5, 0.5]
    assert run.scalars["evaluation/score"] == [(scored.timestamp(), 100 + agent.env_steps, agent.score)]
    assert run.hparams["algorithm"] == agent.algorithm
    assert run.hparams["learning_rate"] == agent.hyperparameters["learning_rate"]
    assert run.hparams["num_envs"] == agent.envs
    assert run.status == 1


def test_many_agents_take_as_many_queries_as_few(django_assert_num_queries: Any) -> None:
    for pods in (1, 6):
        tournament = played(pods)
        with django_assert_num_queries(4):
            content = b"".join(tournament_tensorboard(tournament.pk))
        assert len(runs_of(content)) == tournament.agents.count() > pods - 1


def test_a_long_curve_is_not_held_in_memory() -> None:
    tournament = played(1, points=4500)
    pieces = list(tournament_tensorboard(tournament.pk))
    assert max(map(len, pieces)) < sum(map(len, pieces)) / 2
    (run, _) = runs_of(b"".join(pieces)).values()
    assert len(run.scalars["training/episodic_return"]) == 4500


def test_a_format_that_there_is_not_is_refused_by_name(api: Client) -> None:
    tournament = played(0)
    assert "tensorboard" in refused(api.get(f"/api/tournaments/{tournament.pk}/export?format=wandb"))["format"]
    refused(api.get("/api/tournaments/999/export?format=tensorboard"), 404)
