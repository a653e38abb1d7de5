"""A pod that trains a schedule, and one that is evaluated again before it may rank."""

from pathlib import Path
from typing import Any

import pytest
import torch

from podracer_core.agents.training_state import load_state
from podracer_core.hyperparameters import ACTION_KINDS, ALGORITHMS
from podracer_core.pod import Pod
from podracer_core.progress import Directive, Log, Progress
from podracer_core.spec import Segment
from tests.core.making import make_plan, run_pod
from tests.core.test_pod import after


@pytest.fixture(autouse=True)
def every_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podracer_core.pod.PROGRESS_INTERVAL", 0.0)


def scheduled(folder: Path, *parts: tuple[int, float, int], **changes: Any) -> Any:
    """A plan of (env_steps, learning_rate, num_envs) after one another."""
    plan = make_plan(folder)
    segments = tuple(
        Segment(
            env_steps=steps,
            hyperparameters={**plan.hyperparameters, "learning_rate": rate, "anneal_lr": False},
            num_envs=num_envs,
        )
        for steps, rate, num_envs in parts
    )
    last = segments[-1]
    return make_plan(
        folder,
        schedule=segments,
        env_steps=sum(part.env_steps for part in segments),
        hyperparameters=last.hyperparameters,
        num_envs=last.num_envs,
        **changes,
    )


def rates(messages: list[Any]) -> list[tuple[int, float]]:
    points = [message for message in messages if isinstance(message, Progress)]
    return [(point.env_steps, point.losses["learning_rate"]) for point in points]


PARTS = ((512, 1e-3, 8), (512, 1e-4, 4), (256, 1e-5, 8))


def test_a_schedule_trains_its_segments_one_after_another(tmp_path: Path) -> None:
    messages, result = run_pod(scheduled(tmp_path, *PARTS))
    assert result.env_steps == 1280
    found = rates(messages)
    assert {rate for steps, rate in found if steps < 512} == {1e-3}
    assert {rate for steps, rate in found if 512 < steps < 1024} == {1e-4}
    assert found[-1] == (1280, 1e-5)


def test_a_schedule_that_was_interrupted_goes_on_in_its_segment(tmp_path: Path) -> None:
    whole, whole_result = run_pod(scheduled(tmp_path / "whole", *PARTS))
    for calls in (1, 4, 6):
        plan = scheduled(tmp_path / f"parts{calls}", *PARTS)
        first, paused = run_pod(plan, directive=after(calls, Directive.PAUSE))
        second, result = run_pod(plan.model_copy(update={"resume_from": paused.state_path}))
        assert rates(first) + rates(second) == rates(whole)
        assert result.evaluation == whole_result.evaluation


def test_a_rerun_line_does_what_its_ancestors_did(tmp_path: Path) -> None:
    """A founder and its heir, by hand, and the same in one pod, learn under the same values from the same weights."""
    _, founder = run_pod(make_plan(tmp_path / "founder", env_steps=512, hyperparameters={"learning_rate": 1e-3}))
    plan = scheduled(tmp_path / "rerun", (512, 1e-3, 8), (256, 1e-9, 8))
    founder_hp = make_plan(tmp_path, hyperparameters={"learning_rate": 1e-3}).hyperparameters
    first = plan.schedule[0].model_copy(update={"hyperparameters": founder_hp})
    _, rerun = run_pod(plan.model_copy(update={"schedule": (first, plan.schedule[1])}))
    parameters = [load_state(str(one.state_path))["learner"]["parameters"] for one in (founder, rerun)]
    torch.testing.assert_close(parameters[0], parameters[1], atol=1e-6, rtol=0)


# Evaluated again


def test_who_would_enter_is_scored_by_fresh_episodes_too(tmp_path: Path) -> None:
    _, plain = run_pod(make_plan(tmp_path / "plain"))
    assert plain.evaluation is not None
    assert plain.screening is None
    messages, again = run_pod(make_plan(tmp_path / "again", reevaluate=True))
    assert again.screening == plain.evaluation
    assert again.evaluation is not None
    assert again.evaluation.returns[:4] == plain.evaluation.returns
    assert again.evaluation.returns[4:] != plain.evaluation.returns
    assert again.evaluation.score == pytest.approx(sum(again.evaluation.returns) / 8)
    assert again.checkpoint_path is not None
    assert "4 more" in [message.text for message in messages if isinstance(message, Log)][-1]


def test_who_does_not_beat_the_bar_is_not_evaluated_again(tmp_path: Path) -> None:
    _, plain = run_pod(make_plan(tmp_path / "plain"))
    assert plain.evaluation is not None
    score = plain.evaluation.score
    for bar, screened in [(score - 1, True), (score, False), (score + 1, False)]:
        _, result = run_pod(make_plan(tmp_path / str(bar), reevaluate=True, bar=bar))
        assert (result.screening is not None) is screened


def test_the_episodes_that_confirm_a_target_are_the_second_evaluation(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, target_score=15.0, confirm_episodes=20, reevaluate=True)
    _, result = run_pod(plan)
    assert result.confirmation is not None
    assert result.screening is not None
    assert result.evaluation is not None
    assert result.evaluation.returns == result.screening.returns + result.confirmation.returns
    assert (result.screening.episodes, result.evaluation.episodes) == (4, 24)


def test_a_pause_between_the_two_evaluations_changes_nothing(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, env_steps=256, reevaluate=True)
    _, whole = run_pod(plan)
    assert whole.screening is not None
    steps = max(whole.screening.lengths)
    _, paused = run_pod(plan, directive=after(steps + 8, Directive.PAUSE))
    assert paused.evaluation is None
    _, result = run_pod(plan.model_copy(update={"resume_from": paused.state_path}))
    assert (result.evaluation, result.screening) == (whole.evaluation, whole.screening)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_heir_begins_with_its_parents_tensors_bit_for_bit(algorithm: str, tmp_path: Path) -> None:
    env_id = "CartPole-v1" if "continuous" not in ACTION_KINDS[algorithm] else "Pendulum-v1"
    size = {"hidden_size": 16, "norm_obs": True}
    short: dict[str, Any] = {"algorithm": algorithm, "num_envs": 4, "env_steps": 128, "hyperparameters": size}
    _, parent = run_pod(make_plan(tmp_path / "parent", env_id, **short))
    heir = Pod(make_plan(tmp_path / "heir", env_id, **short | {"seed": 2, "inherit_from": parent.state_path}))
    list(heir._set_up())
    own, theirs = heir.learner.learned(), load_state(str(parent.state_path))["learner"]
    for name in own.keys() - {"epsilon"}:  # DQN's share of random actions is a schedule, not a tensor
        assert_equal(own[name], theirs[name])


def assert_equal(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_equal(one[name], other[name])
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    else:
        assert one == other
