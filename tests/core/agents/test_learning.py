"""Every algorithm, by every kind of actions it can choose, learns what to do, for which reward, and until when."""

from typing import Any

import pytest
import torch
from torch import Tensor

from podracer_core.agents.learner import Learner
from podracer_core.agents.learners import LEARNERS
from podracer_core.envs.catalogue import ActionKind
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import ACTION_KINDS, ALGORITHMS, complete
from tests.core.making import CreditEnv, GuessBothEnv, GuessEnv, LastStepEnv, PointEnv, ShareEnv, StayEnv

ON_POLICY = {"learning_rate": 1e-2, "norm_adv": True, "optimizer": "adam", "num_steps": 8}
PPO = {"num_steps": 16, "num_minibatches": 1, "num_epochs": 8}
FROM_REPLAY = {
    "learning_rate": 1e-3,
    "batch_size": 64,
    "buffer_size": 4000,
    "learning_starts": 64,
    "train_freq": 1,
    "utd_ratio": 0.5,
    "exploration_steps": 500,
    "target_network_frequency": 1,
    "tau": 0.2,
    "policy_delay": 2,
    "num_critics": 3,
}

ENV_STEPS = {"ppo": 12 * 16 * 32, "a2c": 120 * 8 * 32}

pytestmark = pytest.mark.parametrize(
    ("algorithm", "kind"), [(name, kind) for name, kinds in ACTION_KINDS.items() for kind in kinds]
)


def trained(algorithm: str, env: VectorEnv, gamma: float) -> Learner:
    """After some hundred updates of a small network."""
    fields = ALGORITHMS[algorithm].model_fields
    quick: dict[str, Any] = ON_POLICY if "num_steps" in fields else FROM_REPLAY
    quick = quick | (PPO if algorithm == "ppo" else {}) | {"hidden_size": 32, "ent_coef": 0.01, "gamma": gamma}
    values = {name: value for name, value in quick.items() if name in fields}
    learner = LEARNERS[algorithm](env, complete(algorithm, values), 1)
    while learner.global_step < ENV_STEPS.get(algorithm, 1200):
        learner.iterate(1.0)
    return learner


def num_envs_of(algorithm: str) -> int:
    return 32 if "num_steps" in ALGORITHMS[algorithm].model_fields else 8


def test_answers_what_it_sees(algorithm: str, kind: ActionKind) -> None:
    num_envs = num_envs_of(algorithm)
    if kind == "continuous":
        obs = torch.tensor([[-0.8], [0.0], [0.8]])
        answer = trained(algorithm, PointEnv(num_envs), 0.0).act(obs)
        torch.testing.assert_close(answer, 12 + 2 * obs, atol=0.8, rtol=0)
    elif kind == "discrete":
        assert trained(algorithm, GuessEnv(num_envs), 0.0).act(torch.eye(3)).tolist() == [0, 1, 2]
    else:
        pairs = torch.cartesian_prod(torch.arange(3), torch.arange(2))
        obs = torch.cat((torch.eye(3)[pairs[:, 0]], torch.eye(2)[pairs[:, 1]]), 1)
        assert torch.equal(trained(algorithm, GuessBothEnv(num_envs), 0.0).act(obs), pairs)


@pytest.mark.parametrize(("gamma", "waits"), [(0.1, False), (0.95, True)])
def test_waits_for_a_larger_reward_where_the_discount_makes_it_worth_while(
    algorithm: str, kind: ActionKind, gamma: float, waits: bool
) -> None:
    env = CreditEnv(num_envs_of(algorithm), kind)
    assert bool(first_share(trained(algorithm, env, gamma), env) > 0.5) is waits


@pytest.mark.parametrize(("gamma", "stays"), [(0.1, False), (0.95, True)])
def test_stays_for_many_small_rewards_where_the_discount_makes_it_worth_while(
    algorithm: str, kind: ActionKind, gamma: float, stays: bool
) -> None:
    env = StayEnv(num_envs_of(algorithm), kind)
    assert bool(first_share(trained(algorithm, env, gamma), env) < 0.5) is stays


@pytest.mark.parametrize("terminated", [True, False])
def test_looks_beyond_a_truncation_but_not_where_the_episode_terminated_in_the_same_step(
    algorithm: str, kind: ActionKind, terminated: bool
) -> None:
    env = LastStepEnv(num_envs_of(algorithm), kind, terminated=terminated)
    assert bool(first_share(trained(algorithm, env, 0.9), env) > 0.5) is terminated


def first_share(learner: Learner, env: ShareEnv) -> Tensor:
    """What the agent takes of the second option where an episode of `env` has such a choice."""
    return env.share(learner.act(torch.tensor([[1.0, 0.0, 0.0]])))
