"""Evaluations are of whole episodes, unbiased, repeatable, and apart from training."""

import pytest
import torch
from torch import Tensor

from podracer_core.envs.vector_env import Step, VectorEnv, make_vector_env
from podracer_core.evaluator import Evaluator, play
from tests.core.making import GuessEnv


class UnevenEnv(GuessEnv):
    """Environment i's episodes last i + 1 steps and pay 1 a step."""

    def reset(self, seed: int) -> Tensor:
        self.ages = torch.zeros(self.num_envs, dtype=torch.int64)
        return torch.zeros(self.num_envs, 3)

    def step(self, actions: Tensor) -> Step:
        self.ages += 1
        terminated = self.ages == torch.arange(self.num_envs) + 1
        self.ages *= ~terminated
        obs = torch.zeros(self.num_envs, 3)
        return Step(obs, torch.ones(self.num_envs), terminated, torch.zeros_like(terminated), obs)


def act(obs: Tensor) -> Tensor:
    return torch.zeros(len(obs), dtype=torch.int64)


def test_short_episodes_count_no_more_than_long_ones() -> None:
    """Taking the first eight episodes to end would score 1.9 here."""
    env = UnevenEnv(4)
    env.max_episode_steps = 500
    episodes = play(env, act, 8, seed=0)
    assert episodes is not None
    assert episodes.returns.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert episodes.lengths.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("episodes", [1, 3, 4, 7])
def test_exactly_as_many_episodes_are_played_as_were_asked_for(episodes: int) -> None:
    env = UnevenEnv(4)
    env.max_episode_steps = 500
    played = play(env, act, episodes, seed=0)
    assert played is not None
    assert len(played.returns) == episodes


def test_an_episode_that_would_never_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(UnevenEnv):
        max_episode_steps = None
        num_steps = 0

        def step(self, actions: Tensor) -> Step:
            self.num_steps += 1
            return super().step(actions)._replace(terminated=torch.zeros(self.num_envs, dtype=torch.bool))

    monkeypatch.setattr("podracer_core.evaluator.MOST_EPISODE_STEPS", 50)
    env, evaluator = Endless(2), Evaluator("Endless-v0", "cpu")
    evaluator._env = env
    evaluation = evaluator.evaluate(act, 2, seed=0)
    assert evaluation is not None
    assert list(evaluation.lengths) == [50, 50]
    assert evaluator.notes() == [
        "2 of 2 episodes of an evaluation had not ended after 50 steps and count as they stood then; "
        "Endless-v0 has no max_episode_steps."
    ]
    assert evaluator.notes() == []
    several = play(env, act, 6, seed=0)
    assert several is not None
    assert several.lengths.tolist() == [50] * 6
    assert env.num_steps == 50 + 50  # nobody plays on who will not end


def test_episodes_that_end_are_not_cut_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podracer_core.evaluator.MOST_EPISODE_STEPS", 50)
    env = UnevenEnv(40)
    env.max_episode_steps = None
    played = play(env, act, 160, seed=0)
    assert played is not None
    assert played.lengths.tolist() == [length for length in range(1, 41) for _ in range(4)]


def test_the_same_seed_gives_the_same_returns_and_another_does_not() -> None:
    evaluator = Evaluator("CartPole-v1", "cpu")
    returns = []
    for seed in (1, 1, 2):
        evaluation = evaluator.evaluate(act, 16, seed)
        assert evaluation is not None
        returns.append(evaluation.returns)
    assert returns[0] == returns[1] != returns[2]


def test_it_ends_soon_when_interrupted() -> None:
    asked = []

    def interrupted() -> bool:
        asked.append(1)
        return len(asked) > 5

    assert Evaluator("CartPole-v1", "cpu").evaluate(act, 8, 0, interrupted=interrupted) is None
    assert len(asked) == 6


def test_environments_that_are_trained_on_are_left_alone() -> None:
    training: VectorEnv = make_vector_env("CartPole-v1", 4)
    training.reset(1)
    before = training.state()
    Evaluator("CartPole-v1", "cpu").evaluate(act, 4, seed=1)
    assert all(torch.equal(value, training.state()[name]) for name, value in before.items())


def test_a_first_look_is_short_only_where_each_episode_costs() -> None:
    assert Evaluator("CartPole-v1", "cpu").glance(32) == 32
    assert Evaluator("LunarLander-v3", "cpu").glance(32) == 8
    assert Evaluator("LunarLander-v3", "cpu").glance(2) == 2
