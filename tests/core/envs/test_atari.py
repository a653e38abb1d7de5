"""Atari: the batch plays exactly what the single Gymnasium environment plays, and agents train and play on it."""

import importlib.util
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import AtariPreprocessing

from podracer_core import load_agent, make_env
from podracer_core.envs.catalogue import CATALOGUE, default_hyperparameters
from podracer_core.envs.known import environment_check
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.envs.wrapped import wrapping_of
from podracer_core.errors import EnvError, UnknownEnvironmentError
from podracer_core.progress import Directive, Outcome, Progress
from tests.core.making import make_plan, run_pod

GAMES = ["ALE/Pong-v5", "ALE/Breakout-v5"]

missing = [module for module in ("ale_py", "cv2") if importlib.util.find_spec(module) is None]
with_games = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@with_games
@pytest.mark.parametrize("env_id", GAMES)
def test_every_step_equals_the_wrapped_single_environments(env_id: str) -> None:
    from podracer_core.envs.atari import game_seeds

    env = make_vector_env(env_id, 2)
    singles = [AtariPreprocessing(gymnasium.make(env_id, frameskip=1), noop_max=0) for _ in range(2)]
    obs = env.reset(5).numpy()
    for i, (seed, _) in enumerate(game_seeds([5], 2)):
        np.testing.assert_array_equal(obs[i, 0], singles[i].reset(seed=seed)[0])
    rng, ends = np.random.default_rng(0), 0
    for _ in range(200 if env_id == "ALE/Breakout-v5" else 60):
        actions = rng.integers(0, env.action_dim, 2)
        step = env.step(torch.from_numpy(actions))
        for i, single in enumerate(singles):
            last, reward, terminated, truncated, _ = single.step(int(actions[i]))
            np.testing.assert_array_equal(step.final_obs[i, 0].numpy(), last)
            assert step.reward[i].item() == reward
            assert (step.terminated[i].item(), step.truncated[i].item()) == (terminated, truncated)
            if terminated or truncated:
                ends += 1
                last, _ = single.reset()
            np.testing.assert_array_equal(step.obs[i, 0].numpy(), last)
    assert ends or env_id == "ALE/Pong-v5"  # of which a game lasts longer
    env.close()


@with_games
def test_a_game_that_runs_out_of_frames_is_truncated_as_the_single_environment_is() -> None:
    gymnasium.register_envs(importlib.import_module("ale_py"))
    spec = gymnasium.spec("ALE/Pong-v5")
    kwargs = spec.kwargs
    try:
        spec.kwargs = kwargs | {"max_num_frames_per_episode": 402}
        env = make_vector_env("ALE/Pong-v5", 1)
        env.reset(1)
        steps = [env.step(torch.zeros(1, dtype=torch.int64)) for _ in range(101)]
    finally:
        spec.kwargs = kwargs
    assert [bool(step.truncated) for step in steps] == [False] * 100 + [True]
    assert not any(step.terminated for step in steps)


@with_games
@pytest.mark.parametrize("env_id", GAMES)
def test_entries_say_what_the_wrapped_environment_says(env_id: str) -> None:
    entry = CATALOGUE[env_id]
    env = make_env({"env_id": env_id, **wrapping_of(env_id)._asdict()})
    assert entry.observation_space.shape == env.observation_space.shape
    assert entry.observation_space.dtype == str(env.observation_space.dtype)
    assert entry.action_dim == env.action_space.n
    assert entry.max_episode_steps == env.unwrapped.spec.kwargs["max_num_frames_per_episode"] / 4
    env.close()


@with_games
@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_a_pod_trains_on_pong_and_its_agent_plays_the_wrapped_game(algorithm: str, tmp_path: Path) -> None:
    small = {
        "ppo": {"num_steps": 32, "num_epochs": 1},
        "dqn": {"learning_starts": 64, "buffer_size": 512, "utd_ratio": 0.03},
    }[algorithm]
    plan = make_plan(
        tmp_path, "ALE/Pong-v5", algorithm=algorithm, hyperparameters=small | {"hidden_size": 32}, num_envs=4,
        env_steps=10_000, eval_episodes=1,
    )  # fmt: skip
    assert plan.hyperparameters["clip_reward"]
    assert plan.hyperparameters["frame_stack"] == 4
    asked = iter([Directive.CONTINUE] * (3 if algorithm == "ppo" else 30))
    messages, result = run_pod(plan, directive=lambda: next(asked, Directive.STOP))
    assert result.outcome is Outcome.STOPPED, result.reason  # a whole game of Pong would be too long for a test
    assert result.env_steps >= 300
    assert [message for message in messages if isinstance(message, Progress)]
    agent = load_agent(result.checkpoint_path)
    assert [wrapper["name"] for wrapper in agent.metadata["wrappers"]] == [
        "AtariPreprocessing",
        "FrameStackObservation",
    ]
    env = make_env(result.checkpoint_path)
    obs, _ = env.reset(seed=1)
    assert obs.shape == (4, 84, 84)
    for _ in range(20):
        obs, *_ = env.step(agent.act(obs))
    env.close()


@with_games
def test_a_game_outside_the_catalogue_is_known_and_a_wrong_name_gets_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODRACER_HOME", str(tmp_path))
    entry = environment_check("ALE/Freeway-v5")
    assert (entry.kind, entry.action_dim, entry.max_episode_steps) == ("atari", 3, 27_000)
    assert entry.observation_space.image is not None
    assert default_hyperparameters("ALE/Freeway-v5", "ppo")["frame_stack"] == 4
    with pytest.raises(UnknownEnvironmentError, match="ALE/Freeway-v5"):
        environment_check("ALE/Freway-v5")


@pytest.mark.parametrize("module", ["ale_py", "cv2"])
def test_a_missing_package_is_named_with_what_brings_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == module else find(name, *rest))
    for env_id in ("ALE/Pong-v5", "ALE/Freeway-v5"):
        with pytest.raises(EnvError, match=f"{env_id} needs the Python package .* `pip install ale-py"):
            environment_check(env_id)
        with pytest.raises(EnvError, match="pip install ale-py"):
            make_vector_env(env_id, 1)
