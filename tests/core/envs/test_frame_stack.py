"""Stacked observations, against Gymnasium's own wrapper."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import FrameStackObservation
from numpy.typing import NDArray

from podracer_core.envs.frame_stack import FrameStack
from podracer_core.envs.gymnasium_env import GymnasiumVectorEnv
from podracer_core.envs.spaces import SpaceInfo, describe_space, see
from podracer_core.envs.vector_env import make_vector_env

CAMERA = "podracer-tests/Camera-v0"


@pytest.fixture(autouse=True)
def camera(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    gymnasium.register(CAMERA, entry_point="sample_envs:Camera", max_episode_steps=3)
    yield
    del gymnasium.registry[CAMERA]


def seen(space: SpaceInfo, obs: Any) -> NDArray[Any]:
    """Images as agents see them, vectors flattened, whatever the stacked space alone would be taken for."""
    return see(space, obs) if space.image else np.asarray(obs, np.float32).ravel()


@pytest.mark.parametrize(("env_id", "processes"), [(CAMERA, 2), ("CartPole-v1", 1)])
def test_every_step_equals_gymnasium_s_wrapper(env_id: str, processes: int) -> None:
    env = FrameStack(GymnasiumVectorEnv(env_id, 2, "cpu", processes), 3)
    singles = [FrameStackObservation(gymnasium.make(env_id), 3) for _ in range(2)]
    space = describe_space(singles[0].observation_space)
    seeds = np.random.SeedSequence([11]).generate_state(2).tolist()
    first = [seen(space, single.reset(seed=seed)[0]) for single, seed in zip(singles, seeds, strict=True)]
    np.testing.assert_array_equal(env.reset(11).numpy(), first)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(60):
        actions = rng.integers(0, 2, 2)
        step = env.step(torch.from_numpy(actions))
        for i, single in enumerate(singles):
            obs, _, terminated, truncated, _ = single.step(actions[i])
            np.testing.assert_array_equal(step.final_obs[i].numpy(), seen(space, obs))
            if terminated or truncated:
                ends += 1
                obs, _ = single.reset()
            np.testing.assert_array_equal(step.obs[i].numpy(), seen(space, obs))
    assert ends
    assert step.obs.dtype is (torch.uint8 if env_id == CAMERA else torch.float32)
    env.close()


def test_a_batched_environment_goes_on_with_the_frames_it_had() -> None:
    one, other = (make_vector_env("Pendulum-v1", 2, frame_stack=4) for _ in range(2))
    one.reset(3)
    actions = torch.zeros(2, 1)
    for _ in range(6):
        one.step(actions)
    kept = one.state()
    assert torch.equal(other.load_state(kept), kept["frames"])
    assert torch.equal(other.step(actions).obs, one.step(actions).obs)


def test_gymnasium_s_environments_begin_new_episodes_from_a_state() -> None:
    env = make_vector_env(CAMERA, 2, frame_stack=2)
    env.reset(3)
    env.step(torch.zeros(2, dtype=torch.int64))
    obs = env.load_state(env.state())
    assert torch.equal(obs[:, :3], obs[:, 3:])
    env.close()
