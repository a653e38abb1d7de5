"""Whatever is killed during a tournament: it finishes, counts each agent once, shows nothing running that is not."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import redis

from benchmarks.elastic import Elastic
from tests.stack import Stack, wait_for
from webapp.embedded import registry

PODS = 3
ROUND = 50_000


def kill_pod(stack: Stack) -> None:
    stack.kill_one("podracer_core.pod_process")


def kill_worker(stack: Stack) -> None:
    stack.kill_one("-m workers")


def kill_web(stack: Stack) -> None:
    stack.kill_one("uvicorn")


def kill_scheduler(stack: Stack) -> None:
    stack.kill_one("manage.py scheduler")


def lose_valkey(stack: Stack) -> None:
    """All that Valkey holds, then Valkey itself."""
    with redis.Redis.from_url(registry.redis_url(stack.home)) as client:
        client.flushall()
    stack.kill_one("valkey-server")


def kill_postgres(stack: Stack) -> None:
    """The postmaster; its children end with it."""
    postmaster = int((stack.home / "postgres" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGKILL)


@pytest.mark.parametrize(
    "fault",
    [kill_pod, kill_worker, kill_web, kill_scheduler, lose_valkey, kill_postgres],
    ids=lambda fault: fault.__name__,
)
def test_a_tournament_survives(stack: Stack, fault: Callable[[Stack], None]) -> None:
    tournament = stack.tournament_start(
        env_id="CartPole-v1",
        name=fault.__name__,
        round={"env_steps": ROUND},
        stop={"pods": PODS},
        pool={"size": 2},
    )
    wait_for(lambda: training(stack, tournament), 60, "a pod training")

    fault(stack)

    ended = stack.wait_for_status(tournament, "FINISHED", "FAILED", "STOPPED", seconds=120)
    assert ended["status"] == "FINISHED", ended["reason"]
    pods = wait_for(lambda: settled(stack, tournament), 20, "no pod shown as running")
    finished = [pod for pod in pods if pod["status"] == "FINISHED"]
    assert len(finished) == PODS
    assert len({pod["agent"] for pod in pods}) == len(pods)
    assert all(pod["env_steps"] >= ROUND for pod in finished)
    board = stack.api("GET", f"/tournaments/{tournament}/leaderboard")["items"]
    assert sorted(row["rank"] for row in board) == list(range(1, len(board) + 1))
    assert len({row["agent"] for row in board}) == len(board)
    for pod in finished:
        curve = stack.api("GET", f"/agents/{pod['agent']}/curve?points=all")
        steps = curve["env_steps"]
        assert steps == sorted(set(steps)), "a curve has points of one surviving attempt only"
        assert steps[-1] <= pod["env_steps"]


def test_events_alone_tell_every_record_while_workers_come_and_go(stack: Stack) -> None:
    table = Elastic(stack, pods=10, round_env_steps=30_000).play(whole=False)
    assert not [check for check in table if check.wrong]


def training(stack: Stack, tournament: str) -> bool:
    pods = stack.api("GET", f"/tournaments/{tournament}/pods")["items"]
    return any(pod["status"] == "RUNNING" and pod["env_steps"] > 0 for pod in pods)


def settled(stack: Stack, tournament: str) -> list[Any]:
    pods: list[Any] = stack.api("GET", f"/tournaments/{tournament}/pods")["items"]
    return pods if not any(pod["status"] in ("RUNNING", "QUEUED") for pod in pods) else []
