"""A pod from its plan to its result."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from podracer_core import load_agent
from podracer_core.agents.training_state import load_state
from podracer_core.envs.backends import Choice
from podracer_core.envs.catalogue import default_hyperparameters
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.hyperparameters import complete
from podracer_core.pod import Pod
from podracer_core.progress import Directive, Log, Outcome, PodResult, Progress, Saved
from tests.core.making import make_plan, run_pod


@pytest.fixture(autouse=True)
def every_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point for every iteration, so that whole curves can be compared."""
    monkeypatch.setattr("podracer_core.pod.PROGRESS_INTERVAL", 0.0)


def curve(messages: list[Any]) -> list[tuple[Any, ...]]:
    """What of each point must repeat: all but the clock."""
    points = [message for message in messages if isinstance(message, Progress)]
    return [(point.env_steps, point.episodic_return, point.losses) for point in points]


def weights(result: PodResult) -> dict[str, Any]:
    assert result.checkpoint_path is not None
    return load_agent(result.checkpoint_path).tensors


def after(calls: int, directive: Directive) -> Callable[[], Directive]:
    """Continue, until it was asked `calls` times."""
    asked = iter(range(10**9))
    return lambda: directive if next(asked) >= calls else Directive.CONTINUE


def test_a_round_gives_a_curve_a_score_and_an_agent_that_plays(tmp_path: Path) -> None:
    messages, result = run_pod(make_plan(tmp_path, lineage={"strategy": "fresh"}))
    assert result.outcome is Outcome.FINISHED
    assert result.env_steps == 2048
    assert [point[0] for point in curve(messages)] == list(range(256, 2049, 256))
    assert isinstance(messages[0], Log)
    assert "CartPole-v1" in messages[0].text
    assert result.evaluation is not None
    assert result.evaluation.episodes == 4
    assert result.confirmation is None
    assert result.checkpoint_path is not None
    assert load_agent(result.checkpoint_path).act(np.zeros(4)) in (0, 1)
    with safe_open(result.checkpoint_path, "numpy") as file:
        metadata = file.metadata()
    assert json.loads(metadata["score"])["score"] == result.evaluation.score
    assert json.loads(metadata["lineage"]) == {"strategy": "fresh"}


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_the_same_plan_gives_the_same_curve_score_and_agent(env_id: str, tmp_path: Path) -> None:
    runs = [run_pod(make_plan(tmp_path / name, env_id, num_envs=4, env_steps=1024)) for name in "ab"]
    (first, first_result), (second, second_result) = runs
    assert curve(first) == curve(second)
    assert first_result.evaluation == second_result.evaluation
    ours, theirs = weights(first_result), weights(second_result)
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_what_an_environment_has_to_say_is_logged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = Choice("mujoco", "CPU threads step Hopper-v5, because.")
    monkeypatch.setattr("podracer_core.envs.vector_env.best_backend", lambda *args: choice)
    messages, result = run_pod(make_plan(tmp_path, "Hopper-v5", num_envs=4, env_steps=1024, eval_episodes=1))
    assert result.outcome is Outcome.FINISHED
    assert [message.text for message in messages if isinstance(message, Log)].count(choice.note) == 1


def test_an_evaluation_that_cut_its_episodes_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unbounded(*arguments: Any) -> Any:
        env = make_vector_env(*arguments)
        env.max_episode_steps = None
        return env

    monkeypatch.setattr("podracer_core.evaluator.make_vector_env", unbounded)
    monkeypatch.setattr("podracer_core.evaluator.MOST_EPISODE_STEPS", 5)
    messages, _ = run_pod(make_plan(tmp_path, env_steps=256))
    told = [message.text for message in messages if isinstance(message, Log) and "had not ended" in message.text]
    assert [text.split(" and count")[0] for text in told] == [
        "4 of 4 episodes of an evaluation had not ended after 5 steps"
    ]


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_a_paused_pod_goes_on_exactly_as_if_never_interrupted(env_id: str, tmp_path: Path) -> None:
    overrides = {"norm_obs": True, "norm_reward": True, "num_steps": 32, "num_minibatches": 4}
    plan = make_plan(tmp_path / "whole", env_id, num_envs=4, env_steps=1024, hyperparameters=overrides)
    whole, whole_result = run_pod(plan)
    parts = plan.model_copy(update={"directory": str(tmp_path / "parts")})
    first, paused = run_pod(parts, directive=after(3, Directive.PAUSE))
    assert paused.outcome is Outcome.PAUSED
    assert paused.evaluation is paused.checkpoint_path is None
    second, result = run_pod(parts.model_copy(update={"resume_from": paused.state_path}))
    assert curve(first) + curve(second) == curve(whole)
    assert result.evaluation == whole_result.evaluation
    ours, theirs = weights(result), weights(whole_result)
    assert all((ours[name] == theirs[name]).all() for name in ours)
    assert result.seconds > paused.seconds


def test_a_pause_in_the_final_evaluation_is_evaluated_after_the_resume(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, env_steps=512)
    _, whole = run_pod(plan)
    _, paused = run_pod(plan, directive=after(10, Directive.PAUSE))
    assert (paused.outcome, paused.env_steps) == (Outcome.PAUSED, 512)
    _, result = run_pod(plan.model_copy(update={"resume_from": paused.state_path}))
    assert result.evaluation == whole.evaluation


def test_a_stopped_pod_keeps_what_it_has_and_is_not_evaluated(tmp_path: Path) -> None:
    _, result = run_pod(make_plan(tmp_path), directive=after(2, Directive.STOP))
    assert (result.outcome, result.env_steps) == (Outcome.STOPPED, 512)
    assert result.evaluation is None
    assert result.checkpoint_path is not None
    assert result.state_path is not None
    assert load_state(result.state_path)["learner"]["global_step"] == 512
    load_agent(result.checkpoint_path)


def test_an_ended_round_is_evaluated(tmp_path: Path) -> None:
    _, result = run_pod(make_plan(tmp_path), directive=after(2, Directive.END))
    assert (result.outcome, result.env_steps) == (Outcome.FINISHED, 512)
    assert result.evaluation is not None


def test_an_heir_starts_with_its_parent_s_weights_under_its_own_hyperparameters(tmp_path: Path) -> None:
    _, parent = run_pod(make_plan(tmp_path / "parent"))
    heir_plan = make_plan(
        tmp_path / "heir",
        inherit_from=parent.state_path,
        hyperparameters={"learning_rate": 1e-9, "anneal_lr": False},
        env_steps=256,
        seed=2,
    )
    messages, heir = run_pod(heir_plan)
    assert heir.env_steps == 256
    for name, tensor in weights(parent).items():
        np.testing.assert_allclose(weights(heir)[name], tensor, atol=1e-6)
    assert curve(messages)[0][2]["learning_rate"] == 1e-9
    _, fresh = run_pod(heir_plan.model_copy(update={"inherit_from": None, "directory": str(tmp_path / "fresh")}))
    assert not np.allclose(weights(fresh)["actor.0.weight"], weights(parent)["actor.0.weight"], atol=1e-3)


def test_an_heir_of_another_shape_fails_and_says_what_differs(tmp_path: Path) -> None:
    _, parent = run_pod(make_plan(tmp_path / "parent", env_steps=256))
    plan = make_plan(tmp_path, inherit_from=parent.state_path, hyperparameters={"hidden_size": 8})
    _, result = run_pod(plan)
    assert result.outcome is Outcome.FAILED
    assert not result.retryable
    assert "hidden_size 64 instead of 8" in result.reason


def test_a_reached_target_ends_the_round_and_is_confirmed_by_further_episodes(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, target_score=100.0, env_steps=200_000, confirm_episodes=20, eval_episodes=8)
    _, result = run_pod(plan)
    assert result.env_steps < 100_000
    assert result.evaluation is not None
    assert result.confirmation is not None
    assert result.evaluation.score >= 100
    assert result.confirmation.score >= 100
    assert result.confirmation.episodes == 20
    assert result.confirmation.returns[:8] != result.evaluation.returns


def test_where_each_episode_costs_it_looks_at_a_few_before_it_plays_them_all(tmp_path: Path) -> None:
    learning = default_hyperparameters("CartPole-v1", "ppo")
    plan = make_plan(
        tmp_path, "CartPole-v0", target_score=80.0, env_steps=100_000, eval_episodes=16, confirm_episodes=8
    )
    messages, result = run_pod(plan.model_copy(update={"hyperparameters": complete("ppo", learning).model_dump()}))
    looks = [message.text for message in messages if isinstance(message, Log) and "Evaluated" in message.text]
    assert all("over 8 episodes" in look for look in looks[:-1])
    assert "over 16 episodes" in looks[-1]
    assert result.evaluation is not None
    assert result.evaluation.episodes == 16


def test_looking_for_the_target_does_not_change_the_curve(tmp_path: Path) -> None:
    looking, _ = run_pod(make_plan(tmp_path, target_score=90.0, env_steps=3072, confirm_episodes=20))
    assert any(isinstance(message, Log) and "Evaluated" in message.text for message in looking)
    plain, _ = run_pod(make_plan(tmp_path, env_steps=3072))
    assert curve(looking) == curve(plain)[: len(curve(looking))]


def test_the_best_of_several_agents_is_kept_with_a_score_from_fresh_episodes(tmp_path: Path) -> None:
    pod = Pod(make_plan(tmp_path, env_steps=256, target_score=475.0))
    seeds = []

    def evaluate(*arguments: Any) -> Any:
        evaluation = real(*arguments)
        seeds.append(evaluation.returns)
        return evaluation

    run = pod.run()
    next(run)
    scorer = pod._scorer
    assert scorer is not None
    real, scorer._evaluate = scorer._evaluate, evaluate  # type: ignore[method-assign]
    best = pod.learner.learned()
    best["parameters"] = best["parameters"].clone()
    best["parameters"][-1] += 1.0
    scorer._best = (1000.0, best)
    (result,) = [message for message in run if isinstance(message, PodResult)]
    assert len(seeds) == 2
    assert result.evaluation is not None
    assert result.evaluation.returns == max(seeds, key=lambda returns: sum(returns))
    assert result.evaluation.score < 1000


def test_states_are_saved_while_it_trains_and_a_killed_pod_can_go_on_from_one(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, save_interval_seconds=1e-6)
    whole, _ = run_pod(plan.model_copy(update={"directory": str(tmp_path / "whole")}))
    run = Pod(plan).run()
    seen = []
    while not isinstance(seen[-1:][0] if seen else None, Saved) or seen[-1].env_steps < 1024:
        seen.append(next(run))
    run.close()  # as a kill would, it leaves the file of the latest save
    resumed, result = run_pod(plan.model_copy(update={"resume_from": seen[-1].path}))
    assert curve(seen) + curve(resumed) == curve(whole)
    assert result.outcome is Outcome.FINISHED


def test_a_round_in_seconds_ends_by_the_clock(tmp_path: Path) -> None:
    _, result = run_pod(make_plan(tmp_path, env_steps=None, seconds=0.3))
    assert result.outcome is Outcome.FINISHED
    assert result.seconds >= 0.3
    assert result.env_steps > 0


def test_a_diverged_agent_fails_and_says_so(tmp_path: Path) -> None:
    pod = Pod(make_plan(tmp_path))
    run = pod.run()
    next(run)
    with torch.inference_mode():  # as the pod itself
        pod.learner.network.parameters.fill_(torch.inf)
    (result,) = [message for message in run if isinstance(message, PodResult)]
    assert (result.outcome, result.diverged, result.retryable) == (Outcome.FAILED, True, False)
    assert "NaN" in result.reason
    assert result.checkpoint_path is None


@pytest.mark.parametrize(
    ("changes", "reason", "retryable"),
    [
        ({"device": "cuda:97"}, "'cuda:97' is not on this machine", False),
        ({"env_id": "CartPole-v9"}, "CartPole-v9", False),
        ({"hyperparameters": {"num_minibatches": 4000}}, "4000 minibatches are too many", False),
        ({"inherit_from": "/nowhere/state.pt"}, "/nowhere/state.pt", False),
        ({"directory": "/dev/null/x"}, "/dev/null/x", True),
    ],
)
def test_what_cannot_be_done_is_a_result_with_a_reason(
    changes: dict[str, Any], reason: str, retryable: bool, tmp_path: Path
) -> None:
    _, result = run_pod(make_plan(tmp_path, **changes))
    assert result.outcome is Outcome.FAILED
    assert reason in result.reason
    assert result.retryable is retryable


def test_a_gymnasium_environment_trains_resumes_and_plays(tmp_path: Path) -> None:
    overrides = {"num_steps": 16, "num_minibatches": 1, "num_epochs": 1}
    plan = make_plan(tmp_path, "CliffWalking-v1", num_envs=2, env_steps=64, eval_episodes=2, hyperparameters=overrides)
    _, paused = run_pod(plan, directive=after(1, Directive.PAUSE))
    assert paused.outcome is Outcome.PAUSED, paused.reason
    _, result = run_pod(plan.model_copy(update={"resume_from": paused.state_path}), directive=after(3, Directive.STOP))
    assert (result.outcome, result.env_steps) == (Outcome.STOPPED, 64)


def test_a_pause_while_it_looks_for_the_target_is_looked_at_again_after_the_resume(tmp_path: Path) -> None:
    plan = make_plan(tmp_path / "whole", target_score=60.0, env_steps=50_000, confirm_episodes=8)
    whole, whole_result = run_pod(plan)
    assert whole_result.env_steps < 50_000
    parts = plan.model_copy(update={"directory": str(tmp_path / "parts")})
    iterations = whole_result.env_steps // 256
    first, paused = run_pod(parts, directive=after(iterations + 5, Directive.PAUSE))
    assert (paused.outcome, paused.env_steps) == (Outcome.PAUSED, whole_result.env_steps)
    second, result = run_pod(parts.model_copy(update={"resume_from": paused.state_path}))
    assert curve(first) + curve(second) == curve(whole)
    assert (result.evaluation, result.confirmation) == (whole_result.evaluation, whole_result.confirmation)


def test_saves_that_take_seconds_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, save = [0.0], Pod._save

    def tick() -> float:
        now[0] += 0.01
        return now[0]

    def slow_save(pod: Pod) -> str:
        now[0] += 2.0
        return save(pod)

    monkeypatch.setattr("podracer_core.pod.time", SimpleNamespace(perf_counter=tick, time=time.time))
    monkeypatch.setattr(Pod, "_save", slow_save)
    messages, result = run_pod(make_plan(tmp_path, save_interval_seconds=0.01))
    assert result.outcome is Outcome.FINISHED
    assert [isinstance(message, Saved) for message in messages].count(True) == 1
