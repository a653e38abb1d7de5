"""DDPG, TD3, SAC and REDQ: they learn, repeat themselves, go on, and hyperparameters are in effect."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from podracer_core.agents.learners import LEARNERS
from podracer_core.envs.spaces import box
from podracer_core.envs.vector_env import Step, VectorEnv, make_vector_env
from podracer_core.errors import CheckpointError, DivergedError, EnvironmentCrashedError
from podracer_core.hyperparameters import complete
from podracer_core.player import Agent
from tests.core.making import PointEnv

OFF_POLICY = ["ddpg", "td3", "sac", "redq"]
OWN: dict[str, dict[str, Any]] = {"redq": {"num_critics": 3, "utd_ratio": 1.0, "policy_delay": 1}}
EVERYTHING = {
    "norm_obs": True,
    "n_step": 3,
    "max_grad_norm": 0.5,
    "utd_ratio": 0.3,
    "layer_norm": True,
    "weight_decay": 0.1,
    "noise_correlation": 0.9,
}
SMALL: dict[str, Any] = {"hidden_size": 32, "batch_size": 64, "learning_starts": 64, "buffer_size": 4000, "tau": 0.05}

pytestmark = pytest.mark.parametrize("algorithm", OFF_POLICY)


class TwoStepEnv(PointEnv):
    """Two steps an episode: the first action is shown at the second step, whose reward is minus its square from 12.

    Only credit through the value of the next observation tells what to do first.
    """

    env_id = "TwoStep"
    observation_dim, max_episode_steps = 2, 2

    def step(self, actions: Tensor) -> Step:
        last = bool(self.obs[0, 0])
        reward = -self.obs[:, 1].square() if last else torch.zeros(self.num_envs)
        ended = torch.full((self.num_envs,), last)
        final_obs = torch.cat((torch.ones(self.num_envs, 1), (actions - 12) / 2), 1)
        self.obs = torch.zeros_like(final_obs) if last else final_obs
        return Step(self.obs, reward, ended, torch.zeros_like(ended), final_obs)

    def _draw(self) -> Tensor:
        self.obs = torch.zeros(self.num_envs, 2)
        return self.obs


def make(algorithm: str, env: VectorEnv | None = None, seed: int = 1, **hyperparameters: Any) -> Any:
    torch.set_num_threads(1)
    env = env or make_vector_env("Pendulum-v1", 4)
    values = {"learning_rate": 3e-3} | SMALL | OWN.get(algorithm, {}) | hyperparameters
    return LEARNERS[algorithm](env, complete(algorithm, values), seed)


def train(learner: Any, iterations: int) -> Any:
    for _ in range(iterations):
        learner.iterate(1.0)
    return learner


@pytest.mark.parametrize(
    "options",
    [{}, {"norm_obs": True, "layer_norm": True, "weight_decay": 0.01, "anneal_lr": True, "noise_correlation": 0.5}],
)
def test_learns_a_continuous_answer_in_the_environment_s_units(algorithm: str, options: dict[str, Any]) -> None:
    learner = train(make(algorithm, PointEnv(8), gamma=0.0, **options), 18)
    obs = torch.tensor([[-0.8], [0.0], [0.8]])
    torch.testing.assert_close(learner.act(obs), 12 + 2 * obs, atol=0.5, rtol=0)


@pytest.mark.parametrize("n_step", [1, 2])
def test_credits_the_first_action_for_what_the_second_step_pays(algorithm: str, n_step: int) -> None:
    learner = train(make(algorithm, TwoStepEnv(8), gamma=0.9, n_step=n_step), 25)
    torch.testing.assert_close(learner.act(torch.zeros(1, 2)), torch.tensor([[12.0]]), atol=0.8, rtol=0)


def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not(algorithm: str) -> None:
    first, second, other = (train(make(algorithm, seed=seed, norm_obs=True), 4) for seed in (1, 1, 2))
    for name, network in first.networks.items():
        assert torch.equal(network, second.networks[name])
    assert not torch.equal(first.networks["actor"], other.networks["actor"])


def test_looking_at_the_losses_changes_nothing(algorithm: str) -> None:
    looked, plain = make(algorithm), make(algorithm)
    for _ in range(4):
        looked.iterate(1.0)
        looked.metrics()
    assert torch.equal(looked.networks["actor"], train(plain, 4).networks["actor"])
    assert {"policy_loss", "value_loss", "learning_rate"} <= set(looked.metrics())


@pytest.mark.parametrize("hyperparameters", [{}, EVERYTHING])
@pytest.mark.parametrize("before", [1, 4])
def test_goes_on_from_its_state_as_if_never_interrupted(algorithm: str, before: int, hyperparameters: Any) -> None:
    hyperparameters = {"learning_starts": 50} | hyperparameters
    whole = train(make(algorithm, **hyperparameters), before + 3)
    half = train(make(algorithm, **hyperparameters), before)
    resumed = make(algorithm, seed=99, **hyperparameters)
    resumed.load_state(half.state())
    train(resumed, 3)
    for name, network in whole.networks.items():
        assert torch.equal(network, resumed.networks[name]), name
    assert whole.global_step == resumed.global_step
    assert (whole.tracker.running_return == resumed.tracker.running_return).all()


def test_an_heir_starts_with_its_parent_s_networks_and_moments_and_its_own_learning_rate(algorithm: str) -> None:
    parent = train(make(algorithm, norm_obs=True), 5)
    heir = make(algorithm, norm_obs=True, learning_rate=1e-6, seed=2)
    heir.inherit(parent.learned())
    for name, network in parent.networks.items():
        assert torch.equal(heir.networks[name], network)
    for name, optimizer in parent.optimizers.items():
        assert torch.equal(heir.optimizers[name].exp_avg_sq, optimizer.exp_avg_sq)
        assert heir.optimizers[name].num_steps == optimizer.num_steps
    assert torch.equal(heir.normaliser.scale, parent.normaliser.scale)
    assert heir.buffer.size == 0
    before = heir.networks["actor"].clone()
    train(heir, 5)
    moved = (heir.networks["actor"] - before).abs().max()
    assert 0 < moved < 1e-3  # an optimizer of orphans would not move it; the parent's rate would move it further
    assert heir.metrics()["learning_rate"] == 1e-6


def test_an_heir_acts_as_it_has_learned_to_from_its_first_step(algorithm: str) -> None:
    parent = train(make(algorithm, PointEnv(8), gamma=0.0), 15)
    heir = make(algorithm, PointEnv(8), gamma=0.0, learning_starts=64, seed=2)
    heir.inherit(parent.learned())
    for noise in torch.zeros(8, 8, 1):
        heir._step(noise)
    batch = heir.buffer.take(torch.arange(64), 0.0)
    torch.testing.assert_close(batch.action, heir.play(batch.obs), atol=1e-5, rtol=0)


def test_an_heir_of_another_shape_is_refused_by_what_differs(algorithm: str) -> None:
    with pytest.raises(CheckpointError, match="hidden_size 32 instead of 16"):
        make(algorithm, hidden_size=16).inherit(make(algorithm).learned())


def test_a_state_of_another_number_of_environments_is_refused(algorithm: str) -> None:
    state = make(algorithm, PointEnv(4)).state()
    with pytest.raises(CheckpointError, match="4 environments, the plan 8"):
        make(algorithm, PointEnv(8)).load_state(state)


def test_updates_begin_after_learning_starts_and_keep_to_their_ratio(algorithm: str) -> None:
    learner = make(algorithm, learning_starts=101, utd_ratio=0.5)
    while learner.global_step < 400:
        learner.iterate(1.0)
    expected = sum(2 for step in range(4, learner.global_step + 1, 4) if step >= 101)
    assert learner.optimizers["critics"].num_steps == expected


def test_the_learning_rate_falls_with_what_remains_of_the_round(algorithm: str) -> None:
    learner = train(make(algorithm, anneal_lr=True), 3)
    learner.iterate(0.25)
    assert {optimizer.learning_rate for optimizer in learner.optimizers.values()} == {3e-3 * 0.25}
    assert learner.metrics()["learning_rate"] == 3e-3 * 0.25


def test_an_environment_that_crashes_on_what_is_no_number_is_not_to_blame(algorithm: str) -> None:
    class Brittle(PointEnv):
        def step(self, actions: Tensor) -> Step:
            if not actions.isfinite().all():
                raise EnvironmentCrashedError("Point crashed.")
            return super().step(actions)

    learner = train(make(algorithm, Brittle(8)), 10)
    learner.networks["actor"].fill_(torch.nan)
    with pytest.raises(DivergedError, match="actions became NaN"):
        learner.iterate(1.0)


def test_a_checkpoint_plays_what_the_learner_plays(algorithm: str) -> None:
    learner = train(make(algorithm, norm_obs=True, layer_norm=True), 4)
    network = {"hidden_size": 32, "num_layers": 2, "activation": "relu", "layer_norm": True}
    spaces = {"observation": box([-8.0] * 3, [8.0] * 3).model_dump(), "action": box([-2.0], [2.0]).model_dump()}
    metadata = {"env_id": "Pendulum-v1", "algorithm": algorithm, "network": network, "spaces": spaces}
    agent = Agent({name: tensor.numpy() for name, tensor in learner.tensors().items()}, metadata)
    obs = torch.randn(50, 3) * torch.tensor([1.0, 1.0, 4.0])
    np.testing.assert_allclose(agent.act(obs.numpy()), learner.act(obs).numpy(), atol=1e-5)


def test_weights_that_are_not_finite_raise(algorithm: str) -> None:
    learner = train(make(algorithm), 2)
    learner.networks["critics"][3] = torch.nan
    with pytest.raises(DivergedError, match="NaN"):
        learner.iterate(1.0)
