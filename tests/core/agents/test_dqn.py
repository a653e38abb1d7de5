"""DQN and its options: targets by hand, learning, exact resume, inheritance."""

from pathlib import Path
from typing import Any

import pytest
import torch

from podracer_core.agents.dqn import DQN
from podracer_core.agents.q_network import QNetwork
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.checkpoint import load_agent
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.errors import CheckpointError, DivergedError
from podracer_core.hyperparameters import DQNHyperparameters
from podracer_core.pod import Pod
from podracer_core.progress import Directive, Outcome, Progress
from tests.core.making import CreditEnv, GuessEnv, make_plan, run_pod

ALL = {"double": True, "dueling": True, "n_step": 3, "prioritised_replay": True}
SHORT = {
    "learning_starts": 64,
    "buffer_size": 1000,
    "batch_size": 32,
    "hidden_size": 32,
    "train_freq": 4,
    "utd_ratio": 0.5,
    "exploration_steps": 500,
    "end_e": 0.05,
}


def make(env: VectorEnv | None = None, seed: int = 1, **hyperparameters: Any) -> DQN:
    env = env or make_vector_env("CartPole-v1", 4)
    return DQN(env, DQNHyperparameters(**SHORT | hyperparameters), seed)


def train(learner: DQN, iterations: int) -> DQN:
    for _ in range(iterations):
        learner.iterate(1.0)
    return learner


def make_network(num_layers: int) -> QNetwork:
    network = QNetwork(
        observation_dim=3,
        num_actions=2,
        hidden_size=4,
        num_layers=num_layers,
        activation="relu",
        dueling=True,
        device=torch.device("cpu"),
    )
    network.initialise(1)
    return network


@pytest.mark.parametrize("options", [{}, {"double": False}, ALL, {"norm_obs": True}])
def test_learns_to_name_what_it_sees(options: dict[str, Any]) -> None:
    learner = train(make(GuessEnv(8), gamma=0.0, **options | {"n_step": 1}), 30)
    assert learner.act(torch.eye(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("options", [{}, ALL])
def test_learns_to_wait_for_the_larger_reward(options: dict[str, Any]) -> None:
    learner = train(make(CreditEnv(8), target_network_frequency=10, **options), 40)
    assert learner.act(torch.eye(3))[0] == 1
    value = learner.network.forward(torch.eye(3))[0, 1]
    torch.testing.assert_close(value, torch.tensor(0.99), atol=0.15, rtol=0)


@pytest.mark.parametrize("options", [{}, ALL, {"norm_obs": True, "n_step": 2}])
def test_goes_on_from_its_state_as_if_never_interrupted(options: dict[str, Any]) -> None:
    whole, half = train(make(**options), 20), train(make(**options), 10)
    resumed = make(seed=99, **options)
    resumed.load_state(half.state())
    train(resumed, 10)
    assert torch.equal(whole.network.parameters, resumed.network.parameters)
    assert torch.equal(whole.network.target_parameters, resumed.network.target_parameters)
    assert (whole.global_step, whole.num_updates) == (resumed.global_step, resumed.num_updates)
    assert whole.epsilon == resumed.epsilon


def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not() -> None:
    first, second, other = (train(make(seed=seed, **ALL), 8) for seed in (1, 1, 2))
    assert torch.equal(first.network.parameters, second.network.parameters)
    assert not torch.equal(first.network.parameters, other.network.parameters)


def test_an_heir_starts_with_its_parent_s_weights_moments_and_exploration_and_its_own_learning_rate() -> None:
    parent = train(make(), 40)
    heir = make(learning_rate=1e-5, seed=2)
    heir.inherit(parent.learned())
    for name in ("parameters", "target_parameters"):
        assert torch.equal(getattr(heir.network, name), getattr(parent.network, name))
    assert torch.equal(heir.optimizer.exp_avg_sq, parent.optimizer.exp_avg_sq)
    assert heir.epsilon == pytest.approx(0.05)
    train(heir, 5)
    moved = (heir.network.parameters - parent.network.parameters).abs().max()
    assert 0 < moved < 1e-2
    assert heir.metrics()["learning_rate"] == 1e-5


def test_an_heir_of_another_shape_is_refused_by_what_differs() -> None:
    with pytest.raises(CheckpointError, match="dueling True instead of False"):
        make().inherit(make(dueling=True).learned())


@pytest.mark.parametrize(("double", "expected"), [(False, [1 + 0.5 * 8, 2.0]), (True, [1 + 0.5 * 3, 2.0])])
def test_goals_by_hand(double: bool, expected: list[float]) -> None:
    learner = make(double=double)
    learner.network.target = lambda obs: torch.tensor([[3.0, 8.0], [7.0, 9.0]])
    learner.network.best = lambda obs: torch.tensor([0, 1])
    obs, discount = torch.zeros(2, 4), torch.tensor([0.5, 0.0])  # the second episode terminated
    minibatch = Minibatch(obs, torch.zeros(2, 1), torch.tensor([1.0, 2.0]), discount, obs)
    torch.testing.assert_close(learner.goal(minibatch), torch.tensor(expected))


def test_n_step_returns_by_hand() -> None:
    learner = make(CreditEnv(1), n_step=2, gamma=0.5, start_e=1.0, train_freq=4, learning_starts=10**6)
    learner.iterate(1.0)
    minibatch = learner.buffer.take(torch.arange(4), 0.5, 2)
    first = [0.3 if action == 0 else 0.5 for action in minibatch.action[::2, 0].tolist()]  # 0.3 + 0 or 0 + 0.5 * 1
    torch.testing.assert_close(minibatch.reward[::2], torch.tensor(first))
    assert minibatch.discount.tolist() == [0.0] * 4  # both steps reach the end of their episode


def test_the_gradient_is_that_of_the_weighted_huber_loss() -> None:
    learner = make(GuessEnv(4), num_layers=0)
    obs, action = torch.randn(6, 3), torch.tensor([[0], [1], [2], [0], [1], [2]])
    weight, reward = torch.rand(6), 3 * torch.randn(6)
    minibatch = Minibatch(obs, action.float(), reward, torch.zeros(6), obs)
    error = learner.compute_gradients(minibatch, weight)
    layer = learner.network.tensors()["q.0.weight"].clone().requires_grad_()
    value = (obs @ layer.t()).gather(1, action).squeeze(1)
    loss = torch.nn.functional.huber_loss(value, reward, reduction="none")
    (loss * weight).mean().backward()
    torch.testing.assert_close(learner.network.gradients[:9].view(3, 3).t(), layer.grad)
    torch.testing.assert_close(error, (value - reward).detach())


@pytest.mark.parametrize("num_layers", [0, 1, 2])
def test_dueling_adds_the_state_s_value_to_advantages_of_mean_0(num_layers: int) -> None:
    network, obs = make_network(num_layers), torch.randn(5, 3)
    named = network.tensors()

    def stream(name: str) -> torch.Tensor:
        x = obs
        for index in range(num_layers + 1):
            part = name if index >= num_layers - 1 else "q"
            x = torch.nn.functional.linear(x, named[f"{part}.{index}.weight"], named[f"{part}.{index}.bias"])
            x = torch.relu(x) if index < num_layers else x
        return x

    advantage = stream("q")
    torch.testing.assert_close(network.forward(obs), stream("value") + advantage - advantage.mean(1, keepdim=True))
    assert torch.equal(network.best(obs), advantage.argmax(1))


def test_dueling_streams_stay_apart_and_both_learn() -> None:
    network = make_network(2)
    network.forward_keep(torch.randn(5, 3))
    network.backward(torch.randn(5, 2))
    network.parameters.sub_(network.gradients)
    weight = network._online.weights[-1]  # [2 streams of 4, 2 advantages and a value]
    assert (weight[:4, 2:] == 0).all()
    assert (weight[4:, :2] == 0).all()
    gradient = network._online.weight_gradients[-1]
    assert (gradient[:4, :2] != 0).any()
    assert (gradient[4:, 2:] != 0).any()


def test_the_target_stands_still_between_its_updates_and_goes_the_share_tau() -> None:
    learner = make(learning_starts=0, utd_ratio=1 / 16, target_network_frequency=3, tau=0.25)
    start = learner.network.target_parameters.clone()
    train(learner, 2)
    assert torch.equal(learner.network.target_parameters, start)
    train(learner, 1)
    torch.testing.assert_close(learner.network.target_parameters, start.lerp(learner.network.parameters, 0.25))


def test_exploration_falls_to_its_end_and_playing_never_explores() -> None:
    learner = make(exploration_steps=100, start_e=1.0, end_e=0.2)
    assert learner.epsilon == 1.0
    learner.global_step = 50
    assert learner.epsilon == pytest.approx(0.6)
    learner.global_step = 1000
    assert learner.epsilon == pytest.approx(0.2)
    obs = torch.randn(64, 4)
    assert torch.equal(learner.act(obs), learner.act(obs))


def test_weights_that_are_not_finite_raise() -> None:
    learner = make()
    learner.network.parameters[3] = torch.nan
    with pytest.raises(DivergedError, match="NaN"):
        learner.iterate(1.0)


@pytest.mark.parametrize("options", [{}, ALL | {"norm_obs": True}])
def test_a_pod_s_checkpoint_plays_as_its_learner_does(tmp_path: Path, options: dict[str, Any]) -> None:
    plan = make_plan(tmp_path, algorithm="dqn", env_steps=512, hyperparameters=SHORT | options)
    pod = Pod(plan)
    *messages, result = pod.run()
    assert result.outcome is Outcome.FINISHED
    obs = torch.randn(200, 4)
    assert load_agent(result.checkpoint_path).act(obs).tolist() == pod.learner.act(obs).tolist()
    assert {"td_loss", "q_values", "epsilon"} <= set(next(m for m in messages[::-1] if isinstance(m, Progress)).losses)


def test_a_pod_goes_on_exactly_from_where_it_was_paused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"algorithm": "dqn", "env_steps": 1024, "hyperparameters": SHORT | ALL}
    _, whole = run_pod(make_plan(tmp_path / "whole", **options))
    asked = iter(range(100))
    pause = lambda: Directive.PAUSE if next(asked) >= 12 else Directive.CONTINUE  # noqa: E731
    _, paused = run_pod(make_plan(tmp_path / "half", **options), directive=pause)
    assert paused.outcome is Outcome.PAUSED
    assert 0 < paused.env_steps < 1024
    _, resumed = run_pod(make_plan(tmp_path / "rest", resume_from=paused.state_path, **options))
    assert resumed.evaluation == whole.evaluation
    ours, theirs = (load_agent(result.checkpoint_path).tensors for result in (resumed, whole))
    assert all((ours[name] == theirs[name]).all() for name in theirs)
