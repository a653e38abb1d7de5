"""A2C: it learns, repeats itself, goes on exactly, and its gradient is the policy gradient."""

from pathlib import Path
from typing import Any

import pytest
import torch

from podracer_core.agents.a2c import A2C
from podracer_core.agents.rmsprop import RMSprop
from podracer_core.checkpoint import load_agent
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.errors import CheckpointError, DivergedError
from podracer_core.hyperparameters import A2CHyperparameters
from podracer_core.pod import Pod
from podracer_core.progress import Outcome
from tests.core.making import GuessEnv, make_plan


def make(env: VectorEnv | None = None, seed: int = 1, **hyperparameters: Any) -> A2C:
    env = env or make_vector_env("CartPole-v1", 4)
    return A2C(env, A2CHyperparameters(**{"learning_rate": 1e-2} | hyperparameters), seed)


def train(learner: A2C, iterations: int) -> A2C:
    for _ in range(iterations):
        learner.iterate(1.0)
    return learner


@pytest.mark.parametrize("optimizer", ["rmsprop", "adam"])
def test_learns_to_name_what_it_sees(optimizer: str) -> None:
    learner = train(make(GuessEnv(16), gamma=0.0, optimizer=optimizer), 100)
    assert learner.act(torch.eye(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("options", [{}, {"optimizer": "adam", "norm_obs": True, "norm_reward": True}])
def test_goes_on_from_its_state_as_if_never_interrupted(options: dict[str, Any]) -> None:
    whole, half = train(make(**options), 10), train(make(**options), 5)
    resumed = make(seed=99, **options)
    resumed.load_state(half.state())
    train(resumed, 5)
    assert torch.equal(whole.network.parameters, resumed.network.parameters)
    assert whole.global_step == resumed.global_step
    assert (whole.tracker.running_return == resumed.tracker.running_return).all()


def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not() -> None:
    first, second, other = (train(make(seed=seed), 3) for seed in (1, 1, 2))
    assert torch.equal(first.network.parameters, second.network.parameters)
    assert not torch.equal(first.network.parameters, other.network.parameters)


def test_the_entropy_coefficient_falls_with_what_remains_only_where_asked() -> None:
    falling, steady, lower = make(ent_coef=0.2, anneal_ent_coef=True), make(ent_coef=0.2), make(ent_coef=0.05)
    for learner, remaining in ((falling, 0.25), (steady, 0.25), (lower, 1.0)):
        learner.iterate(remaining)
    assert torch.equal(falling.network.parameters, lower.network.parameters)
    assert not torch.equal(steady.network.parameters, lower.network.parameters)


def test_an_heir_starts_with_its_parent_s_weights_and_running_square_and_its_own_learning_rate() -> None:
    parent = train(make(), 3)
    heir = make(learning_rate=1e-5, seed=2)
    heir.inherit(parent.learned())
    assert torch.equal(heir.network.parameters, parent.network.parameters)
    assert torch.equal(heir.optimizer.square_avg, parent.optimizer.square_avg)
    heir.iterate(1.0)
    moved = (heir.network.parameters - parent.network.parameters).abs().max()
    assert 0 < moved < 1e-3
    assert heir.metrics()["learning_rate"] == 1e-5


def test_an_heir_with_another_optimizer_is_refused_by_what_differs() -> None:
    with pytest.raises(CheckpointError, match="optimizer 'rmsprop' instead of 'adam'"):
        make(optimizer="adam").inherit(make().learned())


def test_the_gradient_equals_autograd_s() -> None:
    learner = make(GuessEnv(3), ent_coef=0.1, vf_coef=0.7, num_steps=6)
    batch = learner.compute_gradients(learner.rollout())
    layers = [tensor.clone().requires_grad_() for tensor in learner.network.actor.tensors().values()]
    critic = [tensor.clone().requires_grad_() for tensor in learner.network.critic.tensors().values()]
    log_probs = forward(layers, batch.obs).log_softmax(1)
    picked = log_probs.gather(1, batch.action.unsqueeze(1)).squeeze(1)
    entropy = -(log_probs.exp() * log_probs).sum(1).mean()
    error = forward(critic, batch.obs).squeeze(1) - batch.returns
    (-(picked * batch.advantage).mean() - 0.1 * entropy + 0.7 * 0.5 * error.square().mean()).backward()
    ours = [*learner.network.actor.weight_gradients, *learner.network.critic.weight_gradients]
    theirs = [tensor.grad.t() for tensor in [*layers[::2], *critic[::2]]]
    for own, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, expected)


def forward(layers: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        x = torch.tanh(torch.nn.functional.linear(x, weight, bias))
    return torch.nn.functional.linear(x, layers[-2], layers[-1])


def test_rmsprop_follows_its_formula() -> None:
    parameters, gradients = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.0])
    optimizer = RMSprop(parameters, gradients, 0.1, alpha=0.9, eps=0.01)
    optimizer.step()  # 0.9 * 1 + 0.1 * 0.25 = 0.925; 1 - 0.1 * 0.5 / sqrt(0.935)
    torch.testing.assert_close(optimizer.square_avg, torch.tensor([0.925, 0.9]))
    torch.testing.assert_close(parameters, torch.tensor([1 - 0.05 / 0.935**0.5, 2.0]))


def test_weights_that_are_not_finite_raise() -> None:
    learner = make()
    learner.network.parameters[3] = torch.nan
    with pytest.raises(DivergedError, match="NaN"):
        learner.iterate(1.0)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_a_pod_s_checkpoint_plays_as_its_learner_does(tmp_path: Path, env_id: str) -> None:
    pod = Pod(make_plan(tmp_path, env_id, algorithm="a2c", env_steps=512, hyperparameters={"norm_obs": True}))
    *_, result = pod.run()
    assert result.outcome is Outcome.FINISHED
    obs = torch.randn(200, pod.learner.env.observation_dim)
    played = torch.from_numpy(load_agent(result.checkpoint_path).act(obs))
    torch.testing.assert_close(played, pod.learner.act(obs), atol=1e-4, rtol=1e-4)
