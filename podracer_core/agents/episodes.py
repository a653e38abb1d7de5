"""Cuts the rewards of a vectorised environment into episodes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


class Episodes(NamedTuple):
    """Episodes that ended, in the order in which they did: environment, undiscounted return, length; [n] each."""

    env: npt.NDArray[np.int64]
    returns: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]


class EpisodeTracker:
    """Remembers the running episode of each of `num_envs` environments between two calls."""

    def __init__(self, num_envs: int) -> None:
        self.running_return = np.zeros(num_envs)
        self.running_length = np.zeros(num_envs, dtype=np.int64)

    def state(self) -> dict[str, Tensor]:
        """What `load_state` needs to go on with the running episodes."""
        return {
            "running_return": torch.from_numpy(self.running_return.copy()),
            "running_length": torch.from_numpy(self.running_length.copy()),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.running_return = state["running_return"].numpy().copy()
        self.running_length = state["running_length"].numpy().copy()

    def add(self, reward: Tensor, ended: Tensor) -> Episodes:
        """reward, ended: [num_steps, num_envs], the next steps. Returns the episodes that ended in them."""
        sums = reward.cpu().numpy().cumsum(0, dtype=np.float64) + self.running_return
        num_steps = len(sums)
        env, step = np.nonzero(ended.cpu().numpy().T)  # by environment, then by step
        if not len(env):
            self.running_return = sums[-1]
            self.running_length = self.running_length + num_steps
            return Episodes(env, np.zeros(0), env)
        until = sums[step, env]
        steps_until = step + 1 + self.running_length[env]
        first = np.diff(env, prepend=-1) != 0
        returns = np.where(first, until, until - np.roll(until, 1))
        lengths = np.where(first, steps_until, steps_until - np.roll(steps_until, 1))
        self._carry(sums, env, step, until)
        order = np.argsort(step, kind="stable")
        return Episodes(env[order], returns[order], lengths[order])

    def _carry(
        self,
        sums: npt.NDArray[np.float64],
        env: npt.NDArray[np.int64],
        step: npt.NDArray[np.int64],
        until: npt.NDArray[np.float64],
    ) -> None:
        """What is left after each environment's last end; later ends overwrite earlier ones."""
        self.running_return = sums[-1].copy()
        self.running_length = self.running_length + len(sums)
        last = np.append(np.diff(env) != 0, True)
        self.running_return[env[last]] -= until[last]
        self.running_length[env[last]] = len(sums) - 1 - step[last]
