"""Learning from images: every algorithm that can, what is kept of them, and going on exactly."""

from typing import Any

import pytest
import torch

from podracer_core.agents.dqn import DQN
from podracer_core.agents.learner import Learner
from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.on_policy import OnPolicy
from podracer_core.agents.training_state import load_state, save_state
from podracer_core.envs.frame_stack import FrameStack
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.evaluator import play
from podracer_core.hyperparameters import complete, observation_problem
from tests.core.making import GuessEnv, SideEnv

SMALL: dict[str, dict[str, Any]] = {
    "ppo": {"num_steps": 16, "learning_rate": 1e-3},
    "a2c": {"num_steps": 4, "learning_rate": 3e-3, "optimizer": "adam", "norm_adv": True},
    "dqn": {"learning_starts": 128, "batch_size": 32, "train_freq": 2, "exploration_steps": 600, "buffer_size": 1000},
}
SEEING = list(SMALL)


def make(algorithm: str, env: VectorEnv, seed: int = 1, **hyperparameters: Any) -> Any:
    shared = {"gamma": 0.0, "hidden_size": 32, "num_layers": 1, "activation": "relu"}
    return LEARNERS[algorithm](env, complete(algorithm, shared, SMALL[algorithm], hyperparameters), seed)


def train(learner: Learner, env_steps: int) -> None:
    until = learner.global_step + env_steps
    while learner.global_step < until:
        learner.iterate(1.0)


@pytest.mark.parametrize("algorithm", SEEING)
def test_learns_to_name_the_side_of_a_bright_square(algorithm: str) -> None:
    learner = make(algorithm, SideEnv(16))
    train(learner, 1536)
    played = play(SideEnv(16), learner.act, 16, seed=99)
    assert played is not None
    assert played.returns.mean() > 7  # of 8


@pytest.mark.parametrize("algorithm", SEEING)
def test_goes_on_from_its_state_as_if_never_interrupted(algorithm: str, tmp_path: Any) -> None:
    whole, part = (make(algorithm, FrameStack(SideEnv(4), 2), frame_stack=2) for _ in range(2))
    train(whole, 512)
    train(part, 256)
    save_state(tmp_path / "state.pt", part.state())
    resumed = make(algorithm, FrameStack(SideEnv(4), 2), seed=7, frame_stack=2)
    resumed.load_state(load_state(tmp_path / "state.pt"))
    train(resumed, 256)
    assert torch.equal(resumed.network.parameters, whole.network.parameters)
    assert torch.equal(resumed._obs, whole._obs)


@pytest.mark.parametrize("algorithm", SEEING)
def test_images_stay_bytes_until_a_network_sees_them(algorithm: str) -> None:
    learner = make(algorithm, FrameStack(SideEnv(4), 2), frame_stack=2)
    train(learner, 160)
    if isinstance(learner, OnPolicy):
        assert (learner._buffer.obs.dtype, learner._buffer.obs.shape[2:]) == (torch.uint8, (2, 12, 12))
        return
    assert isinstance(learner, DQN)
    steps = learner.hp.buffer_size // 4
    assert learner.frames._frames.dtype is torch.uint8
    assert learner.frames._frames[0].numel() < 1.5 * steps * 4 * 144  # one frame a transition, not four


@pytest.mark.parametrize("algorithm", SEEING)
def test_clipped_rewards_teach_and_whole_ones_are_reported(algorithm: str) -> None:
    class Dear(GuessEnv):
        def reward(self, actions: torch.Tensor) -> torch.Tensor:
            return 50 * super().reward(actions) - 20

    learner = make(algorithm, Dear(4), clip_reward=True, **({"num_steps": 16} if algorithm != "dqn" else {}))
    episodes = [learner.iterate(1.0) for _ in range(20)]
    returns = [value for ended in episodes for value in ended.returns.tolist()]
    assert max(map(abs, returns)) > 20
    if isinstance(learner, DQN):
        assert set(learner.buffer.take(torch.arange(4 * learner.buffer.size), 0.9).reward.tolist()) == {-1.0, 1.0}
    else:
        assert set(learner._reward(learner._buffer).unique().tolist()) == {-1.0, 1.0}


@pytest.mark.parametrize("algorithm", ["sac", "td3", "ddpg"])
def test_an_algorithm_that_sees_no_images_is_refused_with_those_that_do(algorithm: str) -> None:
    problem = observation_problem(algorithm, complete(algorithm).model_dump(), kind="box", image=True)
    assert problem is not None
    assert problem[0] is None
    assert "those that can: ppo, a2c, dqn" in problem[1]


def test_normalising_images_and_stacking_what_is_no_box_are_refused_by_name() -> None:
    normalised = complete("ppo", {"norm_obs": True}).model_dump()
    assert (observation_problem("ppo", normalised, kind="box", image=True) or "")[0] == "norm_obs"
    stacked = complete("dqn", {"frame_stack": 4}).model_dump()
    assert (observation_problem("dqn", stacked, kind="tuple", image=False) or "")[0] == "frame_stack"
    assert observation_problem("dqn", stacked, kind="box", image=False) is None
