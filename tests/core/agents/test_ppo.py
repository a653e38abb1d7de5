"""PPO: it learns, repeats itself, and hyperparameters are in effect."""

import math
from itertools import product
from typing import Any

import pytest
import torch

from podracer_core.agents.ppo import PPO, value_gradient
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.errors import CheckpointError, DivergedError
from podracer_core.hyperparameters import PPOHyperparameters
from tests.core.making import GuessEnv, PointEnv


def make(env: VectorEnv | None = None, seed: int = 1, **hyperparameters: Any) -> PPO:
    torch.set_num_threads(1)
    env = env or make_vector_env("CartPole-v1", 4)
    return PPO(env, PPOHyperparameters(**{"learning_rate": 1e-2, "num_steps": 16} | hyperparameters), seed)


def train(learner: PPO, iterations: int) -> PPO:
    for _ in range(iterations):
        learner.iterate(1.0)
    return learner


@pytest.mark.parametrize("norm", [False, True])
def test_learns_a_continuous_answer_in_the_environment_s_units(norm: bool) -> None:
    learner = train(make(PointEnv(32), gamma=0.0, learning_rate=5e-3, norm_obs=norm, norm_reward=norm), 30)
    obs = torch.tensor([[-0.8], [0.0], [0.8]])
    torch.testing.assert_close(learner.act(obs), 12 + 2 * obs, atol=0.4, rtol=0)


@pytest.mark.parametrize(
    "hyperparameters", [{}, {"num_minibatches": 3, "norm_obs": True, "norm_reward": True, "clip_vloss": True}]
)
def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not(hyperparameters: Any) -> None:
    first, second, other = (train(make(seed=seed, **hyperparameters), 5) for seed in (1, 1, 2))
    assert torch.equal(first.network.parameters, second.network.parameters)
    assert not torch.equal(first.network.parameters, other.network.parameters)


def test_goes_on_from_its_state_as_if_never_interrupted() -> None:
    options = {"num_minibatches": 3, "norm_obs": True, "norm_reward": True}
    whole = train(make(**options), 8)
    half = train(make(**options), 4)
    resumed = make(seed=99, **options)
    resumed.load_state(half.state())
    train(resumed, 4)
    assert torch.equal(whole.network.parameters, resumed.network.parameters)
    assert whole.global_step == resumed.global_step
    assert (whole.tracker.running_return == resumed.tracker.running_return).all()


def test_an_heir_starts_with_its_parent_s_weights_and_moments_and_its_own_learning_rate() -> None:
    parent = train(make(learning_rate=1e-2, norm_obs=True), 3)
    heir = make(learning_rate=1e-5, norm_obs=True, seed=2)
    heir.inherit(parent.learned())
    assert torch.equal(heir.network.parameters, parent.network.parameters)
    assert torch.equal(heir.optimizer.exp_avg_sq, parent.optimizer.exp_avg_sq)
    assert heir.optimizer.num_steps == parent.optimizer.num_steps
    assert torch.equal(heir.normaliser.scale, parent.normaliser.scale)
    before = heir.network.actor.tensors()["0.weight"].clone()
    heir.iterate(1.0)
    moved = (heir.network.actor.tensors()["0.weight"] - before).abs().max()
    assert 0 < moved < 1e-3  # an optimizer of orphans would not move it; the parent's rate would move it further
    assert heir.metrics()["learning_rate"] == 1e-5


def test_actions_are_drawn_at_first_as_near_each_other_as_asked() -> None:
    spreads = []
    for log_std in (-2.0, 0.0):
        learner = make(PointEnv(256), num_steps=8, log_std_init=log_std)
        spreads.append(float(learner.rollout().action.std(1).mean()))
    assert spreads[1] / spreads[0] == pytest.approx(math.exp(2), rel=0.05)


def test_an_heir_of_another_shape_is_refused_by_what_differs() -> None:
    with pytest.raises(CheckpointError, match="hidden_size 64 instead of 32"):
        make(hidden_size=32).inherit(make().learned())


def test_the_learning_rate_falls_with_what_remains_only_where_asked() -> None:
    annealed, steady = make(anneal_lr=True), make()
    annealed.iterate(0.25)
    steady.iterate(0.25)
    assert annealed.metrics()["learning_rate"] == pytest.approx(0.25e-2)
    assert steady.metrics()["learning_rate"] == pytest.approx(1e-2)


def test_clip_and_entropy_coefficients_fall_with_what_remains_only_where_asked() -> None:
    coefficients = {"clip_coef": 0.4, "ent_coef": 0.02}
    ways = product([False, True], repeat=2)
    learners = [make(**coefficients, anneal_clip_coef=clip, anneal_ent_coef=ent) for clip, ent in ways]
    for learner in learners:
        learner.iterate(0.25)
    assert [(learner.clip_coef, learner.ent_coef) for learner in learners] == [
        (0.4, 0.02),
        (0.4, 0.005),
        (0.1, 0.02),
        (0.1, 0.005),
    ]
    # What they fall to is what is learned with.
    lower = make(clip_coef=0.1, ent_coef=0.005)
    lower.iterate(1.0)
    assert torch.equal(lower.network.parameters, learners[3].network.parameters)
    assert not torch.equal(lower.network.parameters, learners[1].network.parameters)
    assert not torch.equal(lower.network.parameters, learners[2].network.parameters)


def test_target_kl_ends_an_update_early() -> None:
    steps = [train(make(num_epochs=10, num_minibatches=1, target_kl=kl), 1).optimizer.num_steps for kl in (0.0, 1e-9)]
    assert steps == [10, 2]  # before the first step nothing has moved yet


def test_truncation_bootstraps_from_the_last_observation_and_not_from_the_next_episode() -> None:
    learner = make(GuessEnv(2), num_steps=8, gamma=0.9, gae_lambda=0.0)
    buffer = learner.rollout()
    assert buffer.truncated[7].all()
    final_obs = buffer.final_obs[-1][1]
    final_obs.copy_(torch.tensor([[5.0, 0, 0], [0, -5.0, 0]]))  # unlike any first observation
    batch = learner.returns(buffer)
    expected = buffer.reward[7] + 0.9 * learner.network.value(final_obs)
    torch.testing.assert_close(batch.returns.view(8, 2)[7], expected)


def test_samples_that_do_not_fill_a_minibatch_sit_out_and_no_sample_comes_twice() -> None:
    learner = make(GuessEnv(5), num_steps=5, num_minibatches=4, num_epochs=1, norm_adv=False)
    batch = learner.returns(learner.rollout())
    batch.advantage.copy_(torch.arange(25))
    (minibatches,) = learner._epochs(batch)
    seen = torch.cat([minibatch.advantage for minibatch in minibatches]).tolist()
    assert [len(minibatch.obs) for minibatch in minibatches] == [6] * 4
    assert len(set(seen)) == 24


@pytest.mark.parametrize("clip", [None, 0.2])
def test_the_value_gradient_equals_autograd_s(clip: float | None) -> None:
    value, returns = torch.randn(64, requires_grad=True), torch.randn(64)
    old = value.detach() + 0.3 * torch.randn(64)
    loss = (value - returns).square()
    if clip is not None:
        loss = torch.max(loss, (old + (value - old).clamp(-clip, clip) - returns).square())
    (0.5 * loss.mean()).backward()
    torch.testing.assert_close(value_gradient(value.detach(), returns, old, clip), value.grad)


def test_weights_that_are_not_finite_raise() -> None:
    learner = make()
    learner.network.parameters[3] = torch.nan
    with pytest.raises(DivergedError, match="NaN"):
        learner.iterate(1.0)
