"""Every algorithm through a pod: it trains, is inherited from, goes on after a pause, and its checkpoint plays."""

from pathlib import Path

import numpy as np
import pytest
import torch

from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.training_state import load_state
from podracer_core.checkpoint import PLAYERS, load_agent
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.hyperparameters import ACTION_KINDS, ALGORITHMS, complete
from podracer_core.pod import Pod
from podracer_core.progress import Directive, Outcome, PodResult
from podracer_core.spec import PodPlan
from tests.core.making import make_plan, run_pod

ENVS = {"discrete": "CartPole-v1", "continuous": "Pendulum-v1"}


def plan_of(algorithm: str, folder: Path, **changes: object) -> PodPlan:
    """A short pod on few environments, small in everything that the algorithm has a size for."""
    small = {"hidden_size": 16, "batch_size": 32, "learning_starts": 64, "num_steps": 16}
    fields = ALGORITHMS[algorithm].model_fields
    chosen = {name: value for name, value in small.items() if name in fields}
    plan = {
        "env_id": ENVS[ACTION_KINDS[algorithm][-1]],
        "algorithm": algorithm,
        "hyperparameters": complete(algorithm, chosen, {"norm_obs": True}).model_dump(),
        "seed": 3,
        "num_envs": 4,
        "env_steps": 512,
        "eval_episodes": 2,
        "directory": str(folder),
    }
    return PodPlan(**plan | changes)


def result_of(pod: Pod) -> PodResult:
    *_, result = pod.run()
    assert isinstance(result, PodResult)
    return result


def test_every_algorithm_has_a_learner_kinds_of_actions_and_a_player() -> None:
    assert set(ALGORITHMS) == set(LEARNERS) == set(ACTION_KINDS)
    assert set(ALGORITHMS) <= set(PLAYERS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_trains_hands_on_what_it_learned_and_plays_from_its_checkpoint(algorithm: str, tmp_path: Path) -> None:
    pod = Pod(plan_of(algorithm, tmp_path / "parent"))
    result = result_of(pod)
    assert result.outcome is Outcome.FINISHED, result.reason
    assert result.checkpoint_path is not None
    obs = torch.randn(20, pod.learner.env.observation_dim)
    played = load_agent(result.checkpoint_path).act(obs)
    np.testing.assert_allclose(played, pod.learner.act(obs).numpy(), atol=1e-5)
    heir = Pod(plan_of(algorithm, tmp_path / "heir", inherit_from=result.state_path, seed=4))
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


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_goes_on_after_a_pause_as_if_never_paused(algorithm: str, tmp_path: Path) -> None:
    whole = result_of(Pod(plan_of(algorithm, tmp_path / "whole")))
    asked = iter([Directive.CONTINUE] * 2)
    paused = result_of(Pod(plan_of(algorithm, tmp_path / "part"), lambda: next(asked, Directive.PAUSE)))
    assert paused.outcome is Outcome.PAUSED
    assert 0 < paused.env_steps < whole.env_steps
    resumed = result_of(Pod(plan_of(algorithm, tmp_path / "part", resume_from=paused.state_path)))
    assert resumed.outcome is Outcome.FINISHED, resumed.reason
    assert resumed.env_steps == whole.env_steps
    assert whole.state_path is not None
    assert resumed.state_path is not None
    states = [load_state(path)["learner"] for path in (whole.state_path, resumed.state_path)]
    assert torch.equal(states[0]["env"]["state"], states[1]["env"]["state"])


def test_an_algorithm_that_does_not_fit_the_environment_fails_with_those_that_do(tmp_path: Path) -> None:
    result = result_of(Pod(plan_of("sac", tmp_path, env_id="CartPole-v1")))
    assert result.outcome is Outcome.FAILED
    assert result.reason is not None
    assert "sac cannot choose discrete actions" in result.reason
    assert not result.retryable
