"""REDQ: what its ensemble is for, by hand."""

from typing import Any

import pytest
import torch

from podracer_core.agents.redq import REDQ
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.errors import CheckpointError
from podracer_core.hyperparameters import REDQHyperparameters
from tests.core.making import PointEnv


def make(**hyperparameters: Any) -> REDQ:
    small = {"hidden_size": 16, "batch_size": 32, "learning_starts": 32, "num_critics": 4, "ent_coef": 0.5}
    return REDQ(PointEnv(4), REDQHyperparameters(**small | hyperparameters), 1)


def constant(learner: REDQ, values: list[float]) -> None:
    """Makes the networks of each critic say the same number everywhere, in the targets too."""
    for critics in (learner.critics, learner.targets):
        critics.parameters.zero_()
        critics.biases[-1].copy_(torch.tensor(values).view(-1, 1, 1))


def test_the_target_is_the_smallest_of_the_drawn_critics_less_the_entropy_s_weight() -> None:
    learner = make(num_subset=2)
    constant(learner, [3.0, -1.0, 2.0, 7.0])
    obs, noise = torch.zeros(2, 1), torch.zeros(2, 1)
    batch = Minibatch(obs, obs, torch.tensor([1.0, 2.0]), torch.tensor([0.9, 0.0]), obs)
    out = learner.actor.forward(obs)
    density = torch.distributions.Normal(out[:, :1], out[:, 1:].exp()).log_prob(out[:, :1])
    density -= torch.log(1 - out[:, :1].tanh() ** 2)
    expected = torch.tensor([1 + 0.9 * (2.0 - 0.5 * float(density[0])), 2.0])
    chance = torch.tensor([0.3, 0.1, 0.9, 0.8])  # the third and the fourth are drawn: 2 and 7
    torch.testing.assert_close(learner.target(batch, noise, chance), expected)


def test_every_critic_learns_towards_the_same_target_and_the_actor_steps_once_in_policy_delay_updates() -> None:
    learner = make(policy_delay=3, utd_ratio=1.0, learning_rate=1e-2)
    constant(learner, [1.0, 2.0, 3.0, 4.0])
    while learner.optimizers["critics"].num_steps < 12:
        learner.iterate(1.0)
    assert learner.optimizers["actor"].num_steps == learner.optimizers["critics"].num_steps // 3
    assert (learner.critics.biases[-1].flatten() < torch.tensor([1.0, 2.0, 3.0, 4.0])).all()  # rewards are below 0


def test_the_actor_follows_the_mean_of_all_critics() -> None:
    learner = make(ent_coef=0.0, learning_rate=1e-2)
    obs, noise = torch.rand(64, 1), torch.zeros(64, 1)
    before = learner.critics.forward(torch.cat((obs, learner.play(obs)), 1)).mean()
    for _ in range(5):
        learner._update_actor(obs, noise)
    assert learner.critics.forward(torch.cat((obs, learner.play(obs)), 1)).mean() > before


def test_an_ensemble_of_another_size_is_refused() -> None:
    with pytest.raises(CheckpointError, match="num_critics 4 instead of 5"):
        make(num_critics=5).inherit(make().learned())
