"""Replay by priority (Schaul et al. 2016, arXiv 1511.05952), the proportional variant."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from podracer_core.agents.replay_buffer import Minibatch, ReplayBuffer
from podracer_core.envs.vector_env import Step

EPSILON = 1e-6
"""Added to every error, so that no transition is lost for good."""


class SumTree:
    """Weights of `capacity` leaves under sqrt(capacity) branches, so that two steps lead from the root to a leaf.

    Each step is a running sum over all children at once: a few whole-batch operations, where a binary tree takes
    some for each of its log2(capacity) levels.
    """

    def __init__(self, capacity: int, device: torch.device) -> None:
        self._fan = math.ceil(math.sqrt(capacity))
        self.leaves = torch.zeros(self._fan * self._fan, dtype=torch.float64, device=device)
        self._rows = self.leaves.view(self._fan, self._fan)
        self._branches = torch.zeros(self._fan, dtype=torch.float64, device=device)

    def set(self, index: Tensor, weight: Tensor) -> None:
        """index: [n]; weight: [n] or a single one. Where an index comes twice, one of its weights holds."""
        self.leaves[index] = weight.double()
        branch = index.div(self._fan, rounding_mode="floor")
        self._branches[branch] = self._rows[branch].sum(1)

    @property
    def total(self) -> Tensor:
        return self._branches.sum()

    def find(self, mass: Tensor) -> Tensor:
        """mass: float64 [n], each from 0 to `total`. Returns the leaves [n] at which the running sum passes it."""
        sums = self._branches.cumsum(0)
        branch = torch.searchsorted(sums, _below(mass, sums[-1]), right=True)
        inside = self._rows[branch].cumsum(1)
        rest = _below(mass - sums[branch] + self._branches[branch], inside[:, -1])
        leaf = torch.searchsorted(inside, rest.unsqueeze(1), right=True).squeeze(1)
        return branch * self._fan + leaf


def _below(mass: Tensor, total: Tensor) -> Tensor:
    """`mass` from 0 to less than `total`: rounding must not lead to a leaf that weighs nothing."""
    return torch.minimum(mass, torch.nextafter(total, torch.zeros_like(total))).clamp_(min=0)


class Draw(NamedTuple):
    """What `draw` gave. rows: [batch], where they lie; weight: [batch], to multiply their losses by."""

    minibatch: Minibatch
    rows: Tensor
    weight: Tensor


class PrioritisedReplayBuffer(ReplayBuffer):
    """Draws transition i with probability p_i^alpha / sum p^alpha, where p_i is its latest error. A new one is given
    the highest priority so far, so that each is seen.

    alpha: 0 draws uniformly, 1 in proportion to the error
    """

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        observation_shape: tuple[int, ...],
        action_dim: int,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        *,
        alpha: float,
    ) -> None:
        super().__init__(capacity, num_envs, observation_shape, action_dim, device, dtype)
        self.alpha = alpha
        self._tree = SumTree(len(self), device)
        self._highest = torch.ones((), dtype=torch.float64, device=device)
        self._env_rows = torch.arange(num_envs, device=device)

    def add(self, obs: Tensor, action: Tensor, step: Step) -> None:
        rows = self._env_rows + self._position * self.num_envs
        super().add(obs, action, step)
        self._tree.set(rows, self._highest)

    def draw(self, batch_size: int, gamma: float, n_step: int, beta: float, generator: torch.Generator) -> Draw:
        """One from each of `batch_size` equal shares of the total.

        beta: how far the losses' weights undo that some are drawn more often, 0 not at all, 1 wholly; the largest
            weight in the batch is 1.
        """
        tree = self._tree
        mass = torch.rand(batch_size, dtype=torch.float64, generator=generator, device=tree.leaves.device)
        mass.add_(torch.arange(batch_size, device=mass.device)).mul_(tree.total / batch_size)
        rows = tree.find(mass)
        weight = tree.leaves[rows].pow_(-beta)
        return Draw(self.take(rows, gamma, n_step), rows, weight.div_(weight.max()).float())

    def update(self, rows: Tensor, error: Tensor) -> None:
        """rows: [batch], as drawn; error: [batch], of their values as seen since, of either sign."""
        priority = error.abs().double().add_(EPSILON).pow_(self.alpha)
        self._tree.set(rows, priority)
        torch.maximum(self._highest, priority.max(), out=self._highest)

    def state(self, num_steps: int | None = None) -> dict[str, Tensor]:
        state = super().state(num_steps)
        kept, blocks = len(state["rest"]), self._tree.leaves[: len(self)].view(-1, self.num_envs)
        first = 0 if kept == self.size else self._position - kept  # a large buffer keeps its latest alone
        index = torch.arange(first, first + kept, device=blocks.device) % len(blocks)
        return state | {"priorities": blocks[index].cpu(), "highest": self._highest.cpu().clone()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        super().load_state(state)
        priorities = state["priorities"].flatten().to(self._rest.device)
        self._tree.set(torch.arange(len(priorities), device=priorities.device), priorities)
        self._highest.copy_(state["highest"])
