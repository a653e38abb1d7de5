"""The latest transitions of `num_envs` environments, in one tensor allocated once.

A step of all environments is one block of rows, one row an environment, so that adding is one concatenation and a
minibatch one gather.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from podracer_core.envs.vector_env import Step

MAX_STATE_BYTES = 256 * 1024**2
"""`state` keeps no more than this. A larger buffer comes back with its latest transitions only; that resume is
not exact, but goes on learning."""


class Minibatch(NamedTuple):
    """obs, next_obs: [batch, observation_dim]; action: [batch, action_dim]; reward, discount: [batch]

    reward: the discounted sum of up to `n_step` rewards; next_obs: what the last of them led to
    discount: what the value of `next_obs` counts; 0 where the episode terminated, not where it was truncated
    """

    obs: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    next_obs: Tensor


class ReplayBuffer:
    """A ring of `capacity` // `num_envs` steps of every environment.

    size: steps in it
    """

    def __init__(
        self, capacity: int, num_envs: int, observation_dim: int, action_dim: int, device: torch.device
    ) -> None:
        self.num_envs, self.size, self._position = num_envs, 0, 0
        self._widths = [observation_dim, action_dim, 1, 1, 1, observation_dim]
        self._blocks = torch.zeros(capacity // num_envs, num_envs, sum(self._widths), device=device)
        self._rows = self._blocks.view(-1, sum(self._widths))

    def add(self, obs: Tensor, action: Tensor, step: Step) -> None:
        """obs: [num_envs, observation_dim] and action: [num_envs, action_dim] that led to `step`."""
        ended = step.terminated | step.truncated
        columns = (step.reward.unsqueeze(1), step.terminated.unsqueeze(1), ended.unsqueeze(1))
        torch.cat((obs, action, *columns, step.final_obs), 1, out=self._blocks[self._position])
        self._position = (self._position + 1) % len(self._blocks)
        self.size = min(self.size + 1, len(self._blocks))

    def sample(self, batch_size: int, gamma: float, n_step: int, generator: torch.Generator) -> Minibatch:
        """Drawn uniformly, with replacement."""
        count = self.size * self.num_envs
        index = torch.randint(count, (batch_size,), generator=generator, device=self._rows.device)
        return self.take(index, gamma, n_step)

    def take(self, index: Tensor, gamma: float, n_step: int = 1) -> Minibatch:
        """index: [batch], position in the ring times `num_envs` plus environment."""
        rows = self._rows.index_select(0, index)
        obs, action, reward, terminated, _, next_obs = torch.split_with_sizes(rows, self._widths, 1)
        if n_step > 1:
            return Minibatch(obs, action, *self._look_ahead(index, gamma, n_step))
        discount = torch.rsub(terminated, 1).mul_(gamma)
        return Minibatch(obs, action, reward.squeeze(1), discount.squeeze(1), next_obs)

    def _look_ahead(self, index: Tensor, gamma: float, n_step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Rewards, discounts and next observations over `n_step` steps, fewer where an episode ends.

        The newest step has none after it, so what reaches it is cut short there too: a return over fewer steps.
        """
        block, env = index // self.num_envs, index % self.num_envs
        newest = (self._position - 1) % len(self._blocks)
        reward = torch.zeros(len(index), device=index.device)
        discount, next_obs = torch.zeros_like(reward), torch.empty(0)
        running = torch.ones_like(index, dtype=torch.bool)
        for ahead in range(n_step):
            at = (block + ahead) % len(self._blocks)
            rows = self._rows.index_select(0, at * self.num_envs + env)
            columns = torch.split_with_sizes(rows, self._widths, 1)
            step_reward, terminated, ended = (column.squeeze(1) for column in columns[2:5])
            reward = torch.where(running, reward + step_reward * gamma**ahead, reward)
            discount = torch.where(running, (1 - terminated) * gamma ** (ahead + 1), discount)
            next_obs = torch.where(running.unsqueeze(1), columns[5], next_obs) if ahead else columns[5]
            running = running & (ended == 0) & (at != newest)
        return reward, discount, next_obs

    def state(self, num_steps: int | None = None) -> dict[str, Tensor]:
        """On the CPU, at most MAX_STATE_BYTES, and the latest `num_steps` steps."""
        most = max(1, MAX_STATE_BYTES // (self._blocks[0].numel() * self._blocks.element_size()))
        most = most if num_steps is None else min(most, num_steps)
        if self.size <= most:
            return {"blocks": self._blocks[: self.size].cpu().clone(), "position": torch.tensor(self._position)}
        latest = torch.arange(self._position - most, self._position, device=self._rows.device) % len(self._blocks)
        return {"blocks": self._blocks[latest].cpu(), "position": torch.tensor(most % len(self._blocks))}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.size, self._position = len(state["blocks"]), int(state["position"])
        self._blocks[: self.size] = state["blocks"]
