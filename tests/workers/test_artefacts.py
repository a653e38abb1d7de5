"""What a worker makes beside its slots, with real children, database and storage."""

import html
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.db import connections
from django.test import Client

from podracer_core.checkpoint import load_agent, save_agent
from podracer_core.ensemble import Ensemble
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.exporting.torch_module import torchscript
from podracer_core.playing import play_episodes
from tests.stack import descendants, wait_for
from tests.webapp.tournaments import making
from webapp.tournaments import services, storage
from webapp.tournaments.artefacts import artefacts, ensembles
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.models import Agent, Artefact, Tournament
from webapp.tournaments.workers import services as worker_services
from workers.artefacts import ArtefactMaker

Started = Callable[[], threading.Thread]
SECONDS = 60


@pytest.fixture
def maker(transactional_db: None, settings: Any, tmp_path: Path) -> ArtefactMaker:
    settings.PODRACER_HOME = tmp_path
    backend = "django.core.files.storage.FileSystemStorage"
    folder = {"BACKEND": backend, "OPTIONS": {"location": tmp_path / "storage"}}
    settings.STORAGES = {**settings.STORAGES, "default": folder}
    return ArtefactMaker("test-worker", threading.Event())


@pytest.fixture
def agent(maker: ArtefactMaker, tmp_path: Path) -> Agent:
    """A CartPole agent that pushes against the fall, from a finished pod."""
    return agent_of("CartPole-v1", tmp_path)


def agent_of(env_id: str, folder: Path) -> Agent:
    making.tournament(env_id=env_id)
    return finished(env_id, folder)


def finished(env_id: str, folder: Path, *, score: float = 100.0, towards: float = 1.0) -> Agent:
    """The agent of the next pod: it pushes against the fall, or with it."""
    claimed = making.claim()
    entry, path = CATALOGUE[env_id], folder / "agent.safetensors"
    weight = np.zeros((entry.action_dim, entry.observation_dim), np.float32)
    weight[-1] = towards
    metadata = {
        "env_id": env_id,
        "spaces": {
            "observation": entry.observation_space.model_dump(),
            "action": entry.action_space.model_dump(),
        },
        "algorithm": "ppo",
        "hyperparameters": {},
        "network": {"hidden_size": 1, "num_layers": 0, "activation": "tanh", "obs_clip": 10.0},
        "score": None,
        "lineage": {},
    }
    save_agent(path, {"actor.0.weight": weight, "actor.0.bias": np.zeros(entry.action_dim, np.float32)}, metadata)
    name = storage.agent_file(claimed.tournament_id, claimed.agent_id, "checkpoint.safetensors")
    digest = storage.store(path, name)
    making.finish(claimed, making.result(score), StoredFiles(name, digest, path.stat().st_size))
    return Agent.objects.get(pk=claimed.agent_id)


def ask(agent: Agent, name: str) -> None:
    kind = "replay" if name in Artefact.NAMES[Artefact.Kind.REPLAY] else "export"
    artefacts.artefact_request(agent_id=agent.pk, kind=kind, name=name)


def only() -> Artefact:
    return Artefact.objects.get()


def children() -> list[psutil.Process]:
    return descendants(os.getpid(), "workers.artefact_process")


@pytest.fixture
def started(maker: ArtefactMaker) -> Iterator[Started]:
    """Has the maker work in a thread, as it does in a worker."""
    threads: list[threading.Thread] = []

    def work() -> None:
        try:
            maker.work()
        finally:
            connections.close_all()

    def begin() -> threading.Thread:
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return threads[-1]

    yield begin
    maker.stopping.set()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_exports_are_stored_and_play_with_the_lines_that_the_page_shows(
    maker: ArtefactMaker, agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name in ("torchscript", "onnx"):
        ask(agent, name)
    assert maker.work() == 2
    client = Client()
    client.force_login(User.objects.get())
    page = html.unescape(client.get(f"/agents/{agent.pk}/").content.decode())
    snippets = re.findall(r'<div class="usage"><pre data-copy-source>(.*?)</pre>', page, re.DOTALL)
    assert len(snippets) == 2
    monkeypatch.chdir(tmp_path)
    for row in Artefact.objects.order_by("-name"):
        assert row.status == "FINISHED", row.reason
        path = Path(default_storage.path(row.file))
        assert (storage.file_sha256(path), path.stat().st_size) == (row.sha256, row.size)
        assert row.details["max_difference"] == 0
        answer = client.get(f"/api/agents/{agent.pk}/exports/{row.name}")
        filename = re.findall('filename="(.+)"', answer["Content-Disposition"])[0]
        Path(filename).write_bytes(b"".join(answer.streaming_content))
    for snippet in snippets:
        with torchscript():
            exec(snippet, {})  # as the reader would
        printed = capsys.readouterr().out
        assert float(printed.removeprefix("return: ")) > 8
    assert list((tmp_path / "pods").iterdir()) == []


def test_replays_are_of_the_same_episodes_and_come_with_a_picture(maker: ArtefactMaker, agent: Agent) -> None:
    for name in ("best", "worst"):
        ask(agent, name)
    assert maker.work() == 2
    rows = {row.name: row for row in Artefact.objects.all()}
    assert {row.status for row in rows.values()} == {"FINISHED"}, [row.reason for row in rows.values()]
    assert rows["worst"].details["episodic_return"] < rows["best"].details["episodic_return"]
    for row in rows.values():
        video, picture = (Path(default_storage.path(name)).read_bytes() for name in (row.file, row.poster_file))
        assert b"ftypiso" in video[:32]
        assert picture.startswith(b"\xff\xd8\xff")
        assert row.details["poster"]["size"] == len(picture)
        assert row.details["length"] == row.details["episodic_return"]


def test_a_machine_that_cannot_draw_says_so(
    maker: ArtefactMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "disabled")
    ask(agent_of("Hopper-v5", tmp_path), "best")
    maker.work()
    assert only().status == "FAILED"
    assert only().reason.startswith("Hopper-v5 cannot be drawn on this machine: ")
    assert "install libegl1" in only().reason


def test_a_child_that_is_killed_fails_with_a_reason_and_the_next_is_made(
    maker: ArtefactMaker, agent: Agent, started: Started
) -> None:
    ask(agent, "best")
    thread = started()
    (child,) = wait_for(children, SECONDS, "a child")
    os.killpg(child.pid, signal.SIGKILL)
    thread.join(SECONDS)
    assert (only().status, "ended with status -9" in only().reason) == ("FAILED", True)


@pytest.mark.parametrize("told", ["stopping", "leaving"])
def test_a_worker_that_stops_or_is_drained_hands_back_what_it_had_begun(
    maker: ArtefactMaker, agent: Agent, started: Started, told: str
) -> None:
    ask(agent, "best")
    services.worker_seen(name=maker.worker, device_kind="cpu", slots=1)
    thread = started()
    wait_for(children, SECONDS, "a child")
    if told == "leaving":
        worker_services.worker_drain(name=maker.worker, now=True)
    getattr(maker, told).set()
    thread.join(SECONDS)
    assert (only().status, only().lease_until) == ("QUEUED", None)
    assert children() == []


def test_what_is_made_for_a_deleted_tournament_leaves_nothing(
    maker: ArtefactMaker, agent: Agent, started: Started, tmp_path: Path
) -> None:
    ask(agent, "onnx")
    thread = started()
    wait_for(children, SECONDS, "a child")
    services.tournament_delete(tournament_id=agent.tournament_id)
    thread.join(SECONDS)
    assert children() == []
    assert [path for path in (tmp_path / "storage").rglob("*") if path.is_file()] == []


def test_a_checkpoint_that_is_gone_is_a_reason(maker: ArtefactMaker, agent: Agent) -> None:
    default_storage.delete(agent.checkpoint_file)
    ask(agent, "onnx")
    maker.work()
    assert (only().status, only().reason) == ("FAILED", "The checkpoint is no longer in storage.")


def test_a_damaged_checkpoint_is_a_reason(maker: ArtefactMaker, agent: Agent) -> None:
    Path(default_storage.path(agent.checkpoint_file)).write_bytes(b"not an agent, but long enough")
    ask(agent, "onnx")
    maker.work()
    assert only().status == "FAILED"
    assert "is not a .safetensors file that Podracer wrote" in only().reason


def board_of_three(folder: Path) -> Tournament:
    """Two agents that push against the fall and one that pushes with it."""
    tournament = making.tournament(
        leaderboard={"eval_episodes": 5, "max_per_ancestor": 1}, generator={"strategies": {"fresh": 1}}
    )
    for score, towards in ((120, 1.0), (110, 2.0), (90, -1.0)):
        finished("CartPole-v1", folder, score=score, towards=towards)
    return tournament


def test_an_ensemble_is_stored_scored_plays_and_is_filmed(maker: ArtefactMaker, tmp_path: Path) -> None:
    tournament = board_of_three(tmp_path)
    ensembles.ensemble_request(tournament_id=tournament.pk, size=3)
    assert maker.work() == 1
    assert only().status == "FINISHED", only().reason
    row = Agent.every.get(kind="ensemble")
    path = Path(default_storage.path(row.checkpoint_file))
    assert (storage.file_sha256(path), path.stat().st_size) == (row.checkpoint_sha256, row.checkpoint_size)
    client = Client()
    client.force_login(User.objects.get())
    answer = client.get(f"/api/agents/{row.pk}/checkpoint")
    downloaded = tmp_path / "downloaded.safetensors"
    downloaded.write_bytes(b"".join(answer.streaming_content))
    agent = load_agent(downloaded)
    assert isinstance(agent, Ensemble)
    assert agent.metadata["lineage"] == {
        "tournament": tournament.name,
        "agent": "ens-1",
        "parents": [entry.agent.name for entry in tournament.leaderboard.select_related("agent")],
        "strategy": "ensemble",
    }
    # Two of three push against the fall, and are followed.
    assert agent.act([0.0, 0.0, 0.0, 1.0]) == 1
    assert agent.act([0.0, 0.0, 0.0, -1.0]) == 0
    played = [one.episodic_return for one in play_episodes(agent, 10, row.seed)]
    assert row.returns == played, "five episodes twice, as its members had"
    assert row.score == agent.metadata["score"]["score"] == np.mean(played)
    ask(row, "best")
    maker.work()
    video = row.artefacts.get(kind="replay")
    assert video.status == "FINISHED", video.reason
    assert list((tmp_path / "pods").iterdir()) == []


def test_a_member_that_storage_has_lost_is_a_reason(maker: ArtefactMaker, tmp_path: Path) -> None:
    tournament = board_of_three(tmp_path)
    ensembles.ensemble_request(tournament_id=tournament.pk, size=2)
    lost = Agent.objects.get(score=110)
    default_storage.delete(lost.checkpoint_file)
    maker.work()
    assert (only().status, only().reason) == ("FAILED", f"The checkpoint of {lost.name} is no longer in storage.")
    assert tournament.events.filter(kind="ensemble_failed").exists()
