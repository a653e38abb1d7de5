"""Env steps that a pod was given are what it trains, in whole steps of all its environments."""

from pathlib import Path

import pytest

from podracer_core.agents.on_policy import rollout_steps
from podracer_core.hyperparameters import complete
from podracer_core.progress import Directive, Outcome
from tests.core.making import make_plan, run_pod
from tests.core.test_pod import after, curve, weights
from tests.core.test_pod_algorithms import CASES, plan_of
from tests.core.test_pod_schedule import scheduled


@pytest.fixture(autouse=True)
def every_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podracer_core.pod.PROGRESS_INTERVAL", 0.0)


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
@pytest.mark.parametrize(("budget", "trained"), [(1, 4), (150, 152)])
def test_a_budget_is_kept_to_by_every_algorithm(
    algorithm: str, kind: str, budget: int, trained: int, tmp_path: Path
) -> None:
    _, result = run_pod(plan_of(algorithm, kind, tmp_path, {}, env_steps=budget))
    assert (result.outcome, result.env_steps) == (Outcome.FINISHED, trained), result.reason


def test_the_last_rollouts_share_what_is_left(tmp_path: Path) -> None:
    """256 env steps a rollout: of 600 the rest is shared, 176 and 168."""
    messages, result = run_pod(make_plan(tmp_path, env_steps=596))
    assert [point[0] for point in curve(messages)] == [256, 256 + 176, 600]
    assert result.env_steps == 600


@pytest.mark.parametrize("pause", [1, 2, 3])
def test_a_pod_that_was_paused_in_its_last_rollouts_goes_on_exactly(pause: int, tmp_path: Path) -> None:
    overrides = {"norm_obs": True, "norm_reward": True, "anneal_lr": True}
    plan = make_plan(tmp_path / "whole", "Pendulum-v1", env_steps=596, hyperparameters={"num_steps": 32} | overrides)
    whole, whole_result = run_pod(plan)
    parts = plan.model_copy(update={"directory": str(tmp_path / "parts")})
    first, paused = run_pod(parts, directive=after(pause, Directive.PAUSE))
    second, result = run_pod(parts.model_copy(update={"resume_from": paused.state_path}))
    assert curve(first) + curve(second) == curve(whole)
    ours, theirs = weights(result), weights(whole_result)
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_each_part_of_a_schedule_keeps_to_its_own(tmp_path: Path) -> None:
    messages, result = run_pod(scheduled(tmp_path, (300, 1e-3, 8), (100, 1e-4, 4)))
    points = {point[0]: point[2]["learning_rate"] for point in curve(messages)}
    assert (points[304], points[400], result.env_steps) == (1e-3, 1e-4, 400)


@pytest.mark.parametrize(
    ("left", "steps"),
    [(None, 32), (9_999, 32), (512, 32), (504, 32), (496, 31), (257, 17), (256, 32), (255, 32), (9, 2), (1, 1)],
)
def test_rollouts_are_whole_until_the_last_two(left: int | None, steps: int) -> None:
    assert rollout_steps(complete("ppo", {"num_steps": 32}), 8, left) == steps


@pytest.mark.parametrize("algorithm", ["ppo", "a2c"])
def test_advantages_that_are_normalised_have_two_samples(algorithm: str) -> None:
    hp = complete(algorithm, {"num_steps": 32, "norm_adv": True})
    assert rollout_steps(hp, 1, 1) == 2
    assert rollout_steps(hp, 2, 1) == 1
