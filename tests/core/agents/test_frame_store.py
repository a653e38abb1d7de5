"""Replayed images are the ones that were seen, however the ring turns and episodes end."""

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from podracer_core.agents import frame_store
from podracer_core.agents.frame_store import FrameStore
from podracer_core.agents.replay_buffer import ReplayBuffer
from podracer_core.envs.frame_stack import FrameStack
from podracer_core.envs.image import Image
from podracer_core.envs.vector_env import Step
from tests.core.making import GuessEnv

CPU = torch.device("cpu")
CAPACITY = 40
"""Steps in a replay buffer."""


class NoiseEnv(GuessEnv):
    """Shows noise; episodes end at random, in either way."""

    image = Image(1, 3, 4, channels_last=False, high=255.0)
    observation_dim, action_dim, max_episode_steps = 12, 1, None

    def step(self, actions: Tensor) -> Step:
        drawn = torch.rand(self.num_envs, generator=self.generator)
        terminated, truncated = drawn < 0.15, drawn > 0.85
        final_obs = self._draw()
        ended = (terminated | truncated).view(-1, 1, 1, 1)
        obs = torch.where(ended, self._draw(), final_obs) if ended.any() else final_obs
        return Step(obs, drawn, terminated, truncated, final_obs)

    def _draw(self) -> Tensor:
        shape = self.num_envs, *self.image.shape
        self.obs = torch.randint(256, shape, dtype=torch.uint8, generator=self.generator)
        return self.obs


def play(env: FrameStack, store: FrameStore, buffer: ReplayBuffer, obs: Tensor, num_steps: int) -> list[Any]:
    """Steps into the buffer. Returns each step's whole images before and after it, and which terminated."""
    seen = []
    for _ in range(num_steps):
        step = env.step(torch.zeros(env.num_envs, dtype=torch.int64))
        numbers, compact = store.add(step)
        buffer.add(numbers, torch.zeros(env.num_envs, 1), compact)
        seen.append((obs, step.final_obs, step.reward))
        obs = step.obs
    return seen


def assert_replays(store: FrameStore, buffer: ReplayBuffer, seen: list[Any], position: int) -> None:
    """Every transition of the buffer, `seen` being the latest and `position` the next step's place."""
    count, num_envs = len(seen), buffer.num_envs
    assert buffer.size == count
    for index, (obs, next_obs, reward) in enumerate(seen):
        at = (position - count + index) % CAPACITY
        drawn = buffer.take(torch.arange(num_envs) + at * num_envs, 0.9)
        torch.testing.assert_close(drawn.reward, reward)
        assert torch.equal(store.take(drawn.obs), obs)
        assert torch.equal(store.take(drawn.next_obs), next_obs)
        assert store.take(drawn.obs).dtype is torch.uint8


@settings(max_examples=25, deadline=None)
@given(stack=st.integers(1, 4), num_steps=st.integers(1, 120), seed=st.integers(0, 99))
def test_replayed_images_equal_those_seen(stack: int, num_steps: int, seed: int) -> None:
    env = FrameStack(NoiseEnv(3), stack)
    assert env.image is not None
    store = FrameStore(env.image, stack, CAPACITY, 3, CPU)
    buffer = ReplayBuffer(CAPACITY * 3, 3, (stack,), 1, CPU)
    obs = env.reset(seed)
    store.start(obs)
    seen = play(env, store, buffer, obs, num_steps)
    assert_replays(store, buffer, seen[-CAPACITY:], num_steps)


def test_a_state_brings_back_the_latest_images_that_fit(monkeypatch: Any) -> None:
    monkeypatch.setattr(frame_store, "MAX_STATE_BYTES", 30 * 3 * 12)
    env = FrameStack(NoiseEnv(3), 2)
    assert env.image is not None
    stores = [FrameStore(env.image, 2, CAPACITY, 3, CPU) for _ in range(2)]
    buffers = [ReplayBuffer(CAPACITY * 3, 3, (2,), 1, CPU) for _ in range(2)]
    obs = env.reset(5)
    stores[0].start(obs)
    seen = play(env, stores[0], buffers[0], obs, 57)
    kept = stores[0].affordable(buffers[0].size)
    assert 10 < kept < 29  # of 28 steps' frames some are taken by the ends of episodes
    state = stores[0].state(kept)
    assert state["frames"].nbytes + state["last_frames"].nbytes <= 30 * 3 * 12
    stores[1].load_state(state)
    buffers[1].load_state(buffers[0].state(kept))
    assert_replays(stores[1], buffers[1], seen[-kept:], kept)
    seen += play(env, stores[1], buffers[1], env._obs, 30)
    assert_replays(stores[1], buffers[1], seen[-CAPACITY:], kept + 30)
