"""The latest transitions of `num_envs` environments, in tensors allocated once.

A step of all environments is one block of rows, one row an environment, so that adding is one copy a tensor and a
minibatch one gather a tensor. Observations keep their own type: images stay uint8 until a network sees them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from podracer_core.envs.vector_env import Step

MAX_STATE_BYTES = 256 * 1024**2
"""`state` keeps no more than this. A larger buffer comes back with its latest transitions only; that resume is
not exact, but goes on learning."""


class Minibatch(NamedTuple):
    """obs, next_obs: [batch, *observation_shape]; action: [batch, action_dim]; reward, discount: [batch]

    reward: the discounted sum of up to `n_step` rewards; next_obs: what the last of them led to
    discount: what the value of `next_obs` counts; 0 where the episode terminated, not where it was truncated
    """

    obs: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    next_obs: Tensor

    def parts(self, count: int) -> Iterator["Minibatch"]:
        """`count` equal minibatches, views of this one."""
        columns = (column.view(count, -1, *column.shape[1:]).unbind(0) for column in self)
        return (Minibatch(*part) for part in zip(*columns, strict=True))


class ReplayBuffer:
    """A ring of `capacity` // `num_envs` steps of every environment.

    action_dim: numbers that an action has, 1 where it is discrete
    dtype: of observations
    size: steps in it
    """

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        observation_shape: tuple[int, ...],
        action_dim: int,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.num_envs, self.size, self._position = num_envs, 0, 0
        self._widths = [action_dim, 1, 1, 1]
        shape = capacity // num_envs, num_envs
        self._obs, self._next_obs = (
            torch.zeros(*shape, *observation_shape, dtype=dtype, device=device) for _ in range(2)
        )
        self._rest = torch.zeros(*shape, sum(self._widths), device=device)  # action, reward, terminated, ended
        self._rows = [ring.flatten(0, 1) for ring in (self._obs, self._rest, self._next_obs)]

    def __len__(self) -> int:
        """Transitions for which there is room."""
        return self._rest.shape[0] * self.num_envs

    def add(self, obs: Tensor, action: Tensor, step: Step) -> None:
        """obs: [num_envs, *observation_shape] and action: [num_envs, action_dim] that led to `step`."""
        ended = step.terminated | step.truncated
        columns = (step.reward.unsqueeze(1), step.terminated.unsqueeze(1), ended.unsqueeze(1))
        torch.cat((action, *columns), 1, out=self._rest[self._position])
        self._obs[self._position] = obs
        self._next_obs[self._position] = step.final_obs
        self._position = (self._position + 1) % len(self._rest)
        self.size = min(self.size + 1, len(self._rest))

    def sample(self, batch_size: int, gamma: float, n_step: int, generator: torch.Generator) -> Minibatch:
        """Drawn uniformly, with replacement."""
        count = self.size * self.num_envs
        index = torch.randint(count, (batch_size,), generator=generator, device=self._rest.device)
        return self.take(index, gamma, n_step)

    def take(self, index: Tensor, gamma: float, n_step: int = 1) -> Minibatch:
        """index: [batch], position in the ring times `num_envs` plus environment."""
        obs, rest, next_obs = self._rows
        action, reward, terminated, _ = torch.split_with_sizes(rest.index_select(0, index), self._widths, 1)
        if n_step > 1:
            reward, discount, last = self._look_ahead(index, gamma, n_step)
        else:
            reward, discount, last = reward.squeeze(1), torch.rsub(terminated, 1).mul_(gamma).squeeze(1), index
        return Minibatch(obs.index_select(0, index), action, reward, discount, next_obs.index_select(0, last))

    def _look_ahead(self, index: Tensor, gamma: float, n_step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Rewards and discounts over `n_step` steps, fewer where an episode ends, and the index of the last: [batch].

        The newest step has none after it, so what reaches it is cut short there too: a return over fewer steps.
        """
        ahead = torch.arange(n_step, device=index.device)
        block = torch.div(index, self.num_envs, rounding_mode="floor").unsqueeze(1) + ahead
        at = block.remainder_(len(self._rest))
        rows = at * self.num_envs + index.remainder(self.num_envs).unsqueeze(1)
        rest = self._rows[1].index_select(0, rows.flatten()).view(len(index), n_step, -1)
        reward, terminated, ended = rest[:, :, -3:].unbind(2)
        goes_on = (ended == 0) & (at != (self._position - 1) % len(self._rest))
        steps = goes_on[:, :-1].cumprod(1).sum(1)  # counted after the first, which always is
        reward = torch.where(ahead <= steps.unsqueeze(1), reward, 0.0).mul_(gamma**ahead).sum(1)
        last = steps.unsqueeze(1)
        discount = torch.rsub(terminated.gather(1, last).squeeze(1), 1).mul_(gamma ** (steps + 1))
        return reward, discount, rows.gather(1, last).squeeze(1)

    def state(self, num_steps: int | None = None) -> dict[str, Tensor]:
        """On the CPU, at most MAX_STATE_BYTES, and the latest `num_steps` steps."""
        rings = {"obs": self._obs, "rest": self._rest, "next_obs": self._next_obs}
        most = max(1, MAX_STATE_BYTES // sum(ring[0].numel() * ring.element_size() for ring in rings.values()))
        most = most if num_steps is None else min(most, num_steps)
        if self.size <= most:
            kept = {name: ring[: self.size].cpu().clone() for name, ring in rings.items()}
            return kept | {"position": torch.tensor(self._position)}
        latest = torch.arange(self._position - most, self._position, device=self._rest.device) % len(self._rest)
        kept = {name: ring[latest].cpu() for name, ring in rings.items()}
        return kept | {"position": torch.tensor(most % len(self._rest))}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.size, self._position = len(state["rest"]), int(state["position"])
        for name, ring in (("obs", self._obs), ("rest", self._rest), ("next_obs", self._next_obs)):
            ring[: self.size] = state[name]
