"""Every algorithm through a pod: it trains, is inherited from, goes on after a pause, and its checkpoint plays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.training_state import load_state
from podracer_core.checkpoint import load_agent
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.hyperparameters import ACTION_KINDS, ALGORITHMS, complete
from podracer_core.player import PLAYERS
from podracer_core.pod import Pod
from podracer_core.progress import Directive, Outcome, PodResult, Progress
from podracer_core.spec import PodPlan
from tests.core.making import make_plan, run_pod

ENVS = {"discrete": "CartPole-v1", "continuous": "Pendulum-v1"}
CASES = [(name, kind) for name, kinds in ACTION_KINDS.items() for kind in kinds if kind in ENVS]
OPTIONS = {"norm_obs": True, "layer_norm": True, "weight_decay": 0.01, "anneal_lr": True}


def plan_of(algorithm: str, kind: str, folder: Path, options: dict[str, Any], **changes: object) -> PodPlan:
    """A short pod on few environments, small in everything that the algorithm has a size for."""
    small = {
        "hidden_size": 16,
        "batch_size": 32,
        "learning_starts": 64,
        "num_steps": 16,
        "utd_ratio": 0.25,
        "policy_delay": 2,
        "num_critics": 3,
    }
    fields = ALGORITHMS[algorithm].model_fields
    chosen = {name: value for name, value in small.items() if name in fields}
    plan = {
        "env_id": ENVS[kind],
        "algorithm": algorithm,
        "hyperparameters": complete(algorithm, chosen, options).model_dump(),
        "seed": 3,
        "num_envs": 4,
        "env_steps": 512,
        "eval_episodes": 2,
        "directory": str(folder),
    }
    return PodPlan(**plan | changes)


def same(first: Any, second: Any) -> bool:
    """Whether two states hold the same, however deep."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return torch.equal(first, second) if isinstance(first, torch.Tensor) else bool(first == second)


def result_of(pod: Pod) -> PodResult:
    *_, result = pod.run()
    assert isinstance(result, PodResult)
    return result


def test_every_algorithm_has_a_learner_kinds_of_actions_and_a_player() -> None:
    assert set(ALGORITHMS) == set(LEARNERS) == set(ACTION_KINDS)
    assert set(ALGORITHMS) <= set(PLAYERS)


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
def test_trains_hands_on_what_it_learned_and_plays_from_its_checkpoint(
    algorithm: str, kind: str, tmp_path: Path
) -> None:
    pod = Pod(plan_of(algorithm, kind, tmp_path / "parent", OPTIONS))
    *messages, result = pod.run()
    assert isinstance(result, PodResult)
    assert result.outcome is Outcome.FINISHED, result.reason
    assert any(message.losses for message in messages if isinstance(message, Progress))
    assert result.checkpoint_path is not None
    obs = torch.randn(20, pod.learner.env.observation_dim)
    played = load_agent(result.checkpoint_path).act(obs)
    np.testing.assert_allclose(played, pod.learner.act(obs).numpy(), atol=1e-5)
    heir = Pod(plan_of(algorithm, kind, tmp_path / "heir", OPTIONS, inherit_from=result.state_path, seed=4))
    inherited = result_of(heir)
    assert inherited.outcome is Outcome.FINISHED, inherited.reason


@pytest.mark.parametrize(("env_id", "env_steps"), [("Acrobot-v1", 150_000), ("MountainCarContinuous-v0", 100_000)])
def test_the_defaults_reach_the_solved_score(env_id: str, env_steps: int, tmp_path: Path) -> None:
    entry = CATALOGUE[env_id]
    plan = make_plan(
        tmp_path,
        env_id,
        num_envs=entry.num_envs,
        env_steps=env_steps,
        eval_episodes=32,
        target_score=entry.solved_score,
    )
    _, result = run_pod(plan)
    assert result.confirmation is not None, f"{result.reason} {result.evaluation}"
    assert result.confirmation.score >= entry.solved_score
    assert result.confirmation.episodes == 100


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
def test_goes_on_after_a_pause_as_if_never_paused(algorithm: str, kind: str, tmp_path: Path) -> None:
    whole = result_of(Pod(plan_of(algorithm, kind, tmp_path / "whole", OPTIONS)))
    asked = iter([Directive.CONTINUE] * 2)
    paused = result_of(Pod(plan_of(algorithm, kind, tmp_path / "part", OPTIONS), lambda: next(asked, Directive.PAUSE)))
    assert paused.outcome is Outcome.PAUSED
    assert 0 < paused.env_steps < whole.env_steps
    resumed = result_of(Pod(plan_of(algorithm, kind, tmp_path / "part", OPTIONS, resume_from=paused.state_path)))
    assert resumed.outcome is Outcome.FINISHED, resumed.reason
    assert resumed.env_steps == whole.env_steps
    assert whole.state_path is not None
    assert resumed.state_path is not None
    states = [load_state(path)["learner"] for path in (whole.state_path, resumed.state_path)]
    assert same(*states)


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
def test_weights_that_become_nan_end_the_pod_with_a_reason_and_leave_no_agent(
    algorithm: str, kind: str, tmp_path: Path
) -> None:
    asked = iter(range(100))

    def spoil_before_the_third_iteration() -> Directive:
        if next(asked) == 2:
            learned = pod.learner.learned()
            for weights in learned.get("networks", {"parameters": learned.get("parameters")}).values():
                weights.fill_(torch.nan)
            pod.learner.inherit(learned)
        return Directive.CONTINUE

    pod = Pod(plan_of(algorithm, kind, tmp_path, {}), spoil_before_the_third_iteration)
    result = result_of(pod)
    assert result.outcome is Outcome.FAILED
    assert result.diverged
    assert "nan" in result.reason.lower()
    assert not list(tmp_path.iterdir())


def test_a_setting_that_diverges_ends_the_pod_with_a_reason(tmp_path: Path) -> None:
    diverging = {"learning_rate": 1.0, "num_layers": 16, "activation": "silu", "utd_ratio": 1.0}
    result = result_of(Pod(plan_of("sac", "discrete", tmp_path, diverging, env_steps=10_000)))
    assert result.outcome is Outcome.FAILED
    assert result.diverged
    assert result.env_steps < 1_000


def test_an_algorithm_that_does_not_fit_the_environment_fails_with_those_that_do(tmp_path: Path) -> None:
    result = result_of(Pod(plan_of("td3", "discrete", tmp_path, {})))
    assert result.outcome is Outcome.FAILED
    assert result.reason is not None
    assert "td3 cannot choose discrete actions" in result.reason
    assert not result.retryable
