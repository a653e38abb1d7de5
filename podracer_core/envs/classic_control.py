"""Batched CartPole-v1, Acrobot-v1, MountainCar-v0, MountainCarContinuous-v0 and Pendulum-v1.

On the CPU the equations run on numpy arrays that share memory with the tensors given out. On a device they
run on tensors, with nothing copied to or awaited by the host, and the state in place, so that a CUDA graph
may hold a step (register `generator` with it).
"""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.classic_dynamics import DYNAMICS
from podracer_core.envs.vector_env import Step, VectorEnv


class ClassicControl(VectorEnv):
    """`num_envs` environments as one array `[state_dim, num_envs]`.

    arrays: "numpy" (CPU only) or "torch"; by default the faster one for the device
    generator: draws the start of every episode, on the device
    """

    def __init__(
        self,
        env_id: str,
        num_envs: int,
        device: torch.device | str = "cpu",
        arrays: Literal["numpy", "torch"] | None = None,
    ) -> None:
        entry = CATALOGUE[env_id]
        self.env_id, self.num_envs, self.device = env_id, num_envs, torch.device(device)
        self.observation_dim, self.max_episode_steps = entry.observation_dim, entry.max_episode_steps
        self.action_kind, self.action_dim = entry.action_kind, entry.action_dim
        self.action_low = self.action_high = None
        if self.action_kind == "continuous":
            self.action_low = torch.tensor(entry.action_space.low, device=self.device)
            self.action_high = torch.tensor(entry.action_space.high, device=self.device)
        assert entry.max_episode_steps is not None
        self._limit = entry.max_episode_steps
        self.generator = torch.Generator(device=self.device)
        self._dynamics = DYNAMICS[env_id]
        self._dtype: torch.dtype = getattr(torch, self._dynamics.dtype)
        self._low = torch.tensor(self._dynamics.reset_low, dtype=self._dtype, device=self.device)[:, None]
        high = torch.tensor(self._dynamics.reset_high, dtype=self._dtype, device=self.device)[:, None]
        self._width = high - self._low
        self._state = self._low.repeat(1, num_envs)
        self._elapsed = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        arrays = arrays or ("numpy" if self.device.type == "cpu" else "torch")
        self._step = self._step_numpy if arrays == "numpy" else self._step_torch
        if arrays == "numpy":
            self._numpy_state: Any = self._state.numpy()
            self._numpy_elapsed: Any = self._elapsed.numpy()

    def reset(self, seed: int) -> Tensor:
        self.generator.manual_seed(seed)
        self._state.copy_(self._starts(self.num_envs))
        self._elapsed.zero_()
        return self._observe(self._state)

    def step(self, actions: Tensor) -> Step:
        return self._step(actions)

    def state(self) -> dict[str, Tensor]:
        return {
            "state": self._state.cpu().clone(),
            "elapsed": self._elapsed.cpu().clone(),
            "generator": self.generator.get_state(),
        }

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        self._state.copy_(state["state"])
        self._elapsed.copy_(state["elapsed"])
        self.generator.set_state(state["generator"])
        return self._observe(self._state)

    def close(self) -> None:
        """Nothing is held."""

    def _starts(self, count: int) -> Tensor:
        """Drawn states of `count` new episodes, [state_dim, count]."""
        shape = (len(self._low), count)
        drawn = torch.rand(shape, generator=self.generator, dtype=self._dtype, device=self.device)
        states = drawn.mul_(self._width).add_(self._low)
        return states.float().to(self._dtype) if self._dynamics.float32_start else states

    def _observe(self, state: Tensor) -> Tensor:
        obs = torch.empty((self.num_envs, self.observation_dim), device=self.device)
        self._dynamics.observe(torch, state, obs)
        return obs

    def _step_numpy(self, actions: Tensor) -> Step:
        """Resets only the environments that ended: on the CPU it costs nothing to look."""
        num_envs, observe = self.num_envs, self._dynamics.observe
        state, elapsed = self._numpy_state, self._numpy_elapsed
        action = actions.numpy().reshape(num_envs)
        if action.dtype != state.dtype:
            action = action.astype(state.dtype)
        reward = np.empty(num_envs, np.float32)
        new, terminated = self._dynamics.advance(np, state, action, reward)
        if terminated is None:
            terminated = np.zeros(num_envs, np.bool_)
        elapsed += 1
        truncated = elapsed >= self._limit
        obs = np.empty((num_envs, self.observation_dim), np.float32)
        observe(np, new, obs)
        obs_tensor = final_obs = torch.from_numpy(obs)
        (ended,) = (terminated | truncated).nonzero()
        if ended.size:
            starts = self._starts(ended.size).numpy()
            first = np.empty((ended.size, self.observation_dim), np.float32)
            observe(np, starts, first)
            new[:, ended] = starts
            elapsed[ended] = 0
            obs = obs.copy()
            obs[ended] = first
            obs_tensor = torch.from_numpy(obs)
        state[:] = new
        from_numpy = torch.from_numpy
        return Step(obs_tensor, from_numpy(reward), from_numpy(terminated), from_numpy(truncated), final_obs)

    def _step_torch(self, actions: Tensor) -> Step:
        """Draws a start for every environment each step and keeps it where one ended: no look, no wait."""
        action = actions.reshape(self.num_envs).to(self._dtype)
        reward = torch.empty(self.num_envs, device=self.device)
        new, terminated = self._dynamics.advance(torch, self._state, action, reward)
        if terminated is None:
            terminated = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        self._elapsed.add_(1)
        truncated = self._elapsed >= self._limit
        ended = terminated | truncated
        final_obs = self._observe(new)
        torch.where(ended, self._starts(self.num_envs), new, out=self._state)
        self._elapsed.masked_fill_(ended, 0)
        return Step(self._observe(self._state), reward, terminated, truncated, final_obs)
