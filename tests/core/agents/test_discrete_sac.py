"""SAC for discrete actions: targets and gradients against hand-worked numbers and autograd, learning, resuming."""

import math
from typing import Any

import pytest
import torch

from podracer_core.agents.discrete_sac import DiscreteSAC
from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.agents.sac import SAC
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.errors import DivergedError
from podracer_core.hyperparameters import SACHyperparameters
from tests.core.making import CreditEnv, GuessEnv, PointEnv

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "batch_size": 64,
    "learning_starts": 64,
    "buffer_size": 4000,
    "tau": 0.05,
    "learning_rate": 3e-3,
}


def make(env: VectorEnv, seed: int = 1, **hyperparameters: Any) -> DiscreteSAC:
    return DiscreteSAC(env, SACHyperparameters(**SMALL | hyperparameters), seed)


def train(learner: DiscreteSAC, iterations: int) -> DiscreteSAC:
    for _ in range(iterations):
        learner.iterate(1.0)
    return learner


def test_the_environment_s_actions_decide_which_sac_learns() -> None:
    hyperparameters = SACHyperparameters(**SMALL)
    assert isinstance(LEARNERS["sac"](GuessEnv(4), hyperparameters, 1), DiscreteSAC)
    assert isinstance(LEARNERS["sac"](PointEnv(4), hyperparameters, 1), SAC)


@pytest.mark.parametrize("options", [{}, {"norm_obs": True, "layer_norm": True, "weight_decay": 0.01, "n_step": 2}])
def test_learns_to_name_what_it_sees(options: dict[str, Any]) -> None:
    learner = train(make(GuessEnv(8), gamma=0.0, **options | {"n_step": 1}), 18)
    assert learner.act(torch.eye(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n_step", [1, 2])
def test_learns_to_wait_for_the_larger_reward(n_step: int) -> None:
    learner = train(make(CreditEnv(8), gamma=0.95, n_step=n_step, ent_coef=0.01), 30)
    assert learner.act(torch.eye(3))[0] == 1
    torch.testing.assert_close(learner.critics.forward(torch.eye(3))[:, 0, 1], torch.full((2,), 0.95), atol=0.2, rtol=0)


def test_the_target_is_the_expected_smaller_value_plus_the_entropy() -> None:
    learner = make(GuessEnv(2), ent_coef=0.5, num_layers=0)
    learner.networks["actor"].zero_()
    learner.actor.biases[-1].copy_(torch.tensor([0.5, 0.25, 0.25]).log())
    learner.targets.parameters.zero_()
    learner.targets.biases[-1].copy_(torch.tensor([[[4.0, 1.0, 8.0]], [[2.0, 3.0, 9.0]]]))
    obs = torch.zeros(2, 3)
    batch = Minibatch(obs, torch.zeros(2, 1), torch.tensor([1.0, 7.0]), torch.tensor([0.5, 0.0]), obs)
    entropy = 0.5 * math.log(2) + 0.5 * math.log(4)
    value = 0.5 * 2 + 0.25 * 1 + 0.25 * 8 + 0.5 * entropy
    torch.testing.assert_close(learner.target(batch), torch.tensor([1 + 0.5 * value, 7.0]))


def test_the_gradients_are_those_of_the_losses() -> None:
    learner, obs = make(GuessEnv(4), ent_coef=0.3, num_layers=0, learning_rate=1e-12), torch.randn(6, 3)
    learner.networks["actor"].normal_()
    logits = learner.actor.forward(obs).requires_grad_()
    log_probs = torch.log_softmax(logits, 1)
    smaller = learner.critics.forward(obs).amin(0)
    (log_probs.exp() * (0.3 * log_probs - smaller)).sum(1).mean().backward()
    expected_entropy = learner._update_actor(obs)
    torch.testing.assert_close(learner.actor.bias_gradients[0], logits.grad.sum(0))
    torch.testing.assert_close(learner.actor.weight_gradients[0], obs.t() @ logits.grad)
    torch.testing.assert_close(expected_entropy, (log_probs.exp() * log_probs).sum(1).detach())

    action, target = torch.tensor([[0], [1], [2], [0], [1], [1]]), torch.randn(6)
    values = learner.critics.forward(obs).requires_grad_()
    taken = values.gather(2, action.expand(2, -1, -1)).squeeze(2)
    (0.5 * (taken - target).square().mean(1).sum()).backward()
    batch = Minibatch(obs, action.float(), target, target, obs)
    learner._update_critics(batch, target)
    torch.testing.assert_close(learner.critics.bias_gradients[0], values.grad.sum(1, keepdim=True))


def test_the_automatic_temperature_brings_the_entropy_to_its_share_of_the_largest() -> None:
    learner = train(make(GuessEnv(8), gamma=0.0, target_entropy_scale=0.5, learning_rate=1e-2), 25)
    assert learner.metrics()["entropy"] == pytest.approx(0.5 * math.log(3), abs=0.15)


def test_explores_by_the_policy_s_probabilities() -> None:
    learner = make(GuessEnv(3000))
    learner.networks["actor"].zero_()
    learner.actor.biases[-1].copy_(torch.tensor([0.6, 0.3, 0.1]).log())
    (noise,) = learner.actions.noise(1, learner.generator)
    shares = torch.bincount(learner.explore(torch.zeros(3000, 3), noise).flatten(), minlength=3) / 3000
    torch.testing.assert_close(shares, torch.tensor([0.6, 0.3, 0.1]), atol=0.04, rtol=0)
    uniform = torch.bincount(learner.actions.random(noise).flatten(), minlength=3) / 3000
    torch.testing.assert_close(uniform, torch.full((3,), 1 / 3), atol=0.04, rtol=0)


@pytest.mark.parametrize("options", [{}, {"norm_obs": True, "layer_norm": True, "n_step": 3}])
def test_goes_on_from_its_state_as_if_never_interrupted(options: dict[str, Any]) -> None:
    whole, half = (train(make(make_vector_env("CartPole-v1", 4), **options), count) for count in (7, 4))
    resumed = make(make_vector_env("CartPole-v1", 4), seed=99, **options)
    resumed.load_state(half.state())
    train(resumed, 3)
    for name, network in whole.networks.items():
        assert torch.equal(network, resumed.networks[name]), name


def test_weights_that_are_not_finite_raise() -> None:
    learner = train(make(GuessEnv(8)), 10)
    learner.networks["critics"][3] = torch.nan
    with pytest.raises(DivergedError, match="NaN"):
        learner.iterate(1.0)
