"""What a slot makes of a claimed pod, with a real pod process, database and storage."""

import errno
import os
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError
from django.db.models.functions import Now

from podracer_core import load_agent
from podracer_core.progress import Outcome, PodResult, Saved
from tests.stack import wait_for
from tests.webapp.tournaments import making
from webapp.tournaments import orchestrator, services, storage
from webapp.tournaments.models import CurvePoint, Pod, Tournament
from webapp.tournaments.workers import services as worker_services
from workers import reporter
from workers.reporter import Reporter
from workers.slot import PodRun, Slot

Start = Callable[..., Tournament]
Working = Callable[[], threading.Thread]

SHORT = {"env_steps": 4_096}
LONG = {"env_steps": 50_000_000}
SECONDS = 60


def only_pod() -> Pod:
    return Pod.objects.select_related("agent", "tournament").get()


def training(steps: int = 1) -> Pod | None:
    return Pod.objects.filter(status="RUNNING", env_steps__gte=steps).first()


def test_a_pod_ends_as_a_scored_agent_with_a_checkpoint_that_plays(slot: Slot, start: Start) -> None:
    start(round=SHORT)
    assert slot.work() == 1
    pod = only_pod()
    assert (pod.status, pod.tournament.status) == ("FINISHED", "FINISHED"), pod.reason
    assert pod.env_steps >= SHORT["env_steps"]
    assert pod.agent.entry.rank == 1
    assert len(pod.agent.returns) == 64, "32 twice: it entered, and so was evaluated again"
    path = Path(default_storage.path(pod.agent.checkpoint_file))
    assert storage.file_sha256(path) == pod.agent.checkpoint_sha256
    assert path.stat().st_size == pod.agent.checkpoint_size
    assert load_agent(path).act([0.0, 0.0, 0.0, 0.0]) in (0, 1)
    points = CurvePoint.objects.filter(agent=pod.agent)
    assert points.count() >= 1
    assert not list((Path(str(default_storage.location)).parent / "pods").iterdir()), "working files are left"


def test_a_child_starts_from_its_parents_state(slot: Slot, start: Start) -> None:
    tournament = start(round=SHORT, stop={"pods": 2}, generator={"strategies": {"exploit": 1}})
    assert slot.work() == 2
    child = tournament.agents.get(index=1)
    assert [parent.index for parent in child.parents.all()] == [0]
    assert child.changes
    assert child.pod.log_lines.filter(text__contains="parent").exists()


def test_every_strategy_trains(slot: Slot, start: Start) -> None:
    strategies = {"exploit": 1, "crossover": 1, "fuse": 1, "continue": 1, "rerun": 1}
    tournament = start(
        round={"env_steps": 1_024},
        stop={"pods": 14},
        generator={"strategies": strategies},
        leaderboard={"max_per_ancestor": 1, "eval_episodes": 4},
    )
    assert slot.work() == 14
    assert not tournament.pods.exclude(status="FINISHED").exists()
    assert {"fresh", *strategies} == set(tournament.agents.values_list("strategy", flat=True))
    for agent in tournament.agents.filter(strategy="rerun"):
        original = agent.parents.get()
        assert agent.env_steps == original.base_env_steps + original.env_steps
    assert tournament.agents.filter(strategy="fuse")[0].parents.count() == 2


def test_a_parent_whose_file_is_gone_or_damaged_costs_nothing_but_the_line(slot: Slot, start: Start) -> None:
    tournament = start(round=SHORT, stop={"pods": 3}, generator={"strategies": {"exploit": 1}})

    def state(index: int) -> Path:
        return Path(default_storage.path(tournament.agents.get(index=index).state_file))

    def run() -> None:
        claim = orchestrator.pod_claim(worker="w", slot=0, device_kind="cpu")
        assert claim is not None
        slot.run(claim)

    run()
    state(0).unlink()
    run()  # it cannot start, and waits again with nobody to inherit from
    assert tournament.agents.get(index=1).strategy == "fresh"
    run()
    state(1).write_bytes(b"damaged")
    assert slot.work() == 2
    assert list(tournament.pods.order_by("pk").values_list("status", "losses")) == [("FINISHED", 0)] * 3
    assert tournament.events.filter(kind="parent_lost").count() == 2


def test_a_slot_takes_the_next_pod_with_its_result_unless_it_shall_stop(slot: Slot, start: Start) -> None:
    tournament = start(round=SHORT, stop={"pods": 5}, pool={"size": 2})
    claim = orchestrator.pod_claim(worker="test-worker", slot=0, device_kind="cpu")
    assert claim is not None
    following = slot.run(claim, go_on=True)
    assert following is not None
    assert Pod.objects.get(status="RUNNING").pk == following.pod_id
    before = Tournament.objects.get().revision
    slot.stopping.set()
    assert slot.run(following, go_on=True) is None
    assert not tournament.pods.filter(status="RUNNING").exists()
    assert Tournament.objects.get().revision > before
    points = CurvePoint.objects.filter(agent=claim.agent_id)
    assert points.latest("env_steps").env_steps == Pod.objects.get(pk=claim.pod_id).env_steps


@pytest.mark.parametrize("when", ["as it trains", "at its end"])
def test_a_pod_whose_points_cannot_be_stored_fails_at_once_and_leaves_no_file(
    slot: Slot, start: Start, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    start(round=SHORT)
    claim = orchestrator.pod_claim(worker="test-worker", slot=0, device_kind="cpu")
    assert claim is not None
    if when == "at its end":
        monkeypatch.setattr(Reporter, "take", lambda *_: [making.point(2**70)])
    else:
        add = Reporter.add
        monkeypatch.setattr(Reporter, "add", lambda reporter, pod, _: add(reporter, pod, making.point(2**70)))
        monkeypatch.setattr(reporter, "FLUSH_SECONDS", 0.0)
    slot.run(claim)
    left = [path for path in Path(str(default_storage.location)).rglob("*") if path.is_file()]
    assert left == []
    pod = Pod.objects.get(pk=claim.pod_id)
    assert (pod.status, pod.losses) == ("FAILED", 0)
    assert pod.reason.startswith("The database cannot store what it reported: ")


def test_a_pause_sends_the_pod_back_with_its_state_and_it_goes_on(slot: Slot, start: Start, working: Working) -> None:
    tournament = start(round=LONG)
    thread = working()
    wait_for(lambda: training(1_000), SECONDS, "training")
    services.tournament_pause(tournament_id=tournament.pk)
    thread.join(SECONDS)
    pod = only_pod()
    assert (pod.status, pod.losses) == ("QUEUED", 0)
    assert pod.state_env_steps > 0
    assert default_storage.exists(pod.state_file)

    services.tournament_resume(tournament_id=tournament.pk)
    thread = working()
    wait_for(lambda: training(pod.state_env_steps + 1), SECONDS, "training beyond the saved state")
    services.tournament_stop(tournament_id=tournament.pk)
    thread.join(SECONDS)
    steps = list(CurvePoint.objects.order_by("env_steps").values_list("env_steps", flat=True))
    assert steps == sorted(set(steps))


def test_a_stop_keeps_what_the_pod_had(slot: Slot, start: Start, working: Working) -> None:
    tournament = start(round=LONG)
    thread = working()
    wait_for(lambda: training(1_000), SECONDS, "training")
    services.tournament_stop(tournament_id=tournament.pk)
    thread.join(SECONDS)
    pod = only_pod()
    assert (pod.status, pod.agent.score) == ("STOPPED", None)
    assert pod.agent.env_steps > 0
    assert default_storage.exists(pod.agent.checkpoint_file)


def test_a_smaller_pool_ends_a_round_early_and_scores_it(slot: Slot, start: Start, working: Working) -> None:
    tournament = start(round=LONG, pool={"size": 2}, stop={"pods": 9})
    thread = working()
    wait_for(lambda: training(1_000), SECONDS, "training")
    Pod.objects.filter(status="RUNNING").update(end_requested=True)
    wait_for(lambda: Pod.objects.filter(status="FINISHED").first(), SECONDS, "an early end")
    services.tournament_stop(tournament_id=tournament.pk)
    thread.join(SECONDS)
    finished = Pod.objects.get(status="FINISHED")
    assert finished.agent.score is not None
    assert finished.env_steps < LONG["env_steps"]


def test_a_killed_process_is_retried_from_its_last_saved_state(slot: Slot, start: Start, working: Working) -> None:
    tournament = start(round=LONG)
    thread = working()
    saved = wait_for(lambda: Pod.objects.filter(state_env_steps__gt=0).first(), SECONDS, "a saved state")
    assert slot.process.pid is not None
    os.kill(slot.process.pid, signal.SIGKILL)
    wait_for(lambda: Pod.objects.filter(attempt=2, env_steps__gt=saved.state_env_steps).first(), SECONDS, "a retry")
    services.tournament_stop(tournament_id=tournament.pk)
    thread.join(SECONDS)
    pod = only_pod()
    assert pod.losses == 1
    assert pod.log_lines.filter(text__contains="goes on from step").exists()


def test_a_stopping_worker_hands_its_pod_back(slot: Slot, start: Start, working: Working) -> None:
    start(round=LONG)
    thread = working()
    wait_for(lambda: training(1_000), SECONDS, "training")
    slot.stopping.set()
    thread.join(SECONDS)
    pod = only_pod()
    assert (pod.status, pod.losses) == ("QUEUED", 0)
    assert pod.state_env_steps > 0


def test_a_worker_drained_now_hands_its_pod_to_another_that_goes_on_from_there(
    slot: Slot, start: Start, working: Working
) -> None:
    tournament = start(round=LONG)
    thread = working()
    wait_for(lambda: training(1_000), SECONDS, "training")
    services.worker_seen(name="test-worker", device_kind="cpu", slots=1)
    worker_services.worker_drain(name="test-worker", now=True)
    slot.leaving.set()
    thread.join(SECONDS)
    pod = only_pod()
    assert (pod.status, pod.losses, pod.worker) == ("QUEUED", 0, "")
    assert pod.state_env_steps > 0
    assert pod.log_lines.filter(text__contains="test-worker is drained").exists()
    assert slot.work() == 0, "it takes nothing more"
    claim = orchestrator.pod_claim(worker="another", slot=0, device_kind="cpu")
    assert claim is not None
    assert (claim.pod_id, claim.resume_file) == (pod.pk, pod.state_file)
    services.tournament_stop(tournament_id=tournament.pk)


def test_a_deleted_tournament_frees_the_slot_and_leaves_no_file(slot: Slot, start: Start, working: Working) -> None:
    tournament = start(round=LONG)
    thread = working()
    wait_for(lambda: training(1_000), SECONDS, "training")
    services.tournament_delete(tournament_id=tournament.pk)
    thread.join(20)
    assert not thread.is_alive()
    left = [path for path in Path(str(default_storage.location)).rglob("*") if path.is_file()]
    assert left == []
    assert slot.process.alive, "the process stays warm for the next pod"


def test_a_result_of_an_attempt_that_was_given_up_is_dropped(slot: Slot, start: Start, working: Working) -> None:
    start(round=LONG)
    working()
    pod = wait_for(lambda: training(1_000), SECONDS, "training")

    def given_up() -> bool:
        Pod.objects.filter(pk=pod.pk, status="RUNNING").update(lease_until=Now() - timedelta(seconds=1))
        orchestrator.sweep()  # unless the slot has renewed its lease in between
        return Pod.objects.filter(pk=pod.pk, losses=1).exists()

    wait_for(given_up, SECONDS, "being given up")
    wait_for(
        lambda: Pod.objects.filter(pk=pod.pk, attempt__gt=pod.attempt, env_steps__gt=0).first(),
        SECONDS,
        "a new attempt",
    )
    assert set(CurvePoint.objects.values_list("attempt", flat=True)) == {2}


def test_a_state_is_kept_as_often_as_the_pod_writes_it_under_one_name(slot: Slot, start: Start, tmp_path: Path) -> None:
    """The slot may be late: what it reads then is newer, and is there also for the result."""
    start(round=SHORT)
    claim = orchestrator.pod_claim(worker=slot.machine.name, slot=0, device_kind="cpu")
    assert claim is not None
    run, path = PodRun(slot, claim, tmp_path), tmp_path / "state.pt"
    path.write_bytes(b"the newest")
    for env_steps in (10, 20):
        run._keep_state(Saved(str(path), env_steps, 1.0))
    files = run._store(PodResult(Outcome.PAUSED, 30, 1.0, state_path=str(path)))
    for name in (files.state_file, only_pod().state_file):
        assert Path(default_storage.path(name)).read_bytes() == b"the newest"


def test_a_pod_that_fails_under_way_leaves_nothing_to_the_next(
    slot: Slot, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its process still says is not taken for what the next pod says."""
    failures = iter([OSError(errno.ENOSPC, "No space left on device")])

    def stored(*arguments: Any) -> None:
        for error in failures:
            raise error

    monkeypatch.setattr(Reporter, "add", stored)
    tournament = start(round=SHORT, stop={"pods": 2}, generator={"strategies": {"fresh": 1}})
    assert slot.work() == 3, "the first one was tried again"
    for agent in tournament.agents.all():
        trained = load_agent(Path(default_storage.path(agent.checkpoint_file)))
        assert trained.metadata["lineage"]["agent"] == agent.name


def test_a_result_that_was_taken_keeps_its_files_though_the_database_s_answer_was_lost(
    slot: Slot, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, lost = orchestrator.pod_finish, iter([OperationalError("server closed the connection unexpectedly")])

    def finish(**result: Any) -> Any:
        answer = taken(**result)
        for error in lost:
            raise error
        return answer

    monkeypatch.setattr(orchestrator, "pod_finish", finish)
    start(round=SHORT)
    slot.work()
    agent = only_pod().agent
    assert load_agent(Path(default_storage.path(agent.checkpoint_file))).act([0.0, 0.0, 0.0, 0.0]) in (0, 1)
    assert storage.exists(agent.state_file)


def test_a_full_disk_fails_the_pod_and_not_the_worker(
    slot: Slot, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "take", full)
    tournament = start(round=SHORT)
    assert slot.work() == 9, "three pods, each tried three times"
    tournament.refresh_from_db()
    assert tournament.status == "FAILED"
    assert "No space left on device" in tournament.reason
    assert set(Pod.objects.values_list("status", "losses")) == {("FAILED", 3)}
