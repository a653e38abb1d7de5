"""Running statistics: observations brought to mean 0 and deviation 1, rewards to a steady scale."""

import torch
from torch import Tensor

from podracer_core.agents.returns import discounted_sums

CLIP = 10.0
_EPSILON = 1e-8


class RunningStatistics:
    """Mean and variance of all rows seen so far, merged batch by batch (Chan, Golub and LeVeque 1979).

    Kept in float64 so that a long run does not stall; until the first update they say mean 0, variance 1.
    """

    def __init__(self, dim: int, device: torch.device) -> None:
        self.count = torch.zeros((), dtype=torch.float64, device=device)
        self.mean = torch.zeros(dim, dtype=torch.float64, device=device)
        self.var = torch.ones(dim, dtype=torch.float64, device=device)

    def update(self, rows: Tensor) -> None:
        """rows: [batch, dim]"""
        rows = rows.double()
        count = len(rows)
        var, mean = torch.var_mean(rows, 0, correction=0)
        total = self.count + count
        difference = mean - self.mean
        share = count / total
        squares = self.var * self.count + var * count + difference.square() * self.count * share
        self.mean += difference * share
        self.var.copy_(squares / total)
        self.count.copy_(total)

    def state(self) -> dict[str, Tensor]:
        return {name: getattr(self, name).cpu().clone() for name in ("count", "mean", "var")}

    def load_state(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            getattr(self, name).copy_(value)


class ObservationNormaliser:
    """(obs - mean) / deviation, clipped. Its statistics move only in `update`: playing never changes them."""

    def __init__(self, dim: int, device: torch.device) -> None:
        self.statistics = RunningStatistics(dim, device)
        self._refresh()

    def apply(self, obs: Tensor) -> Tensor:
        """obs: [batch, dim]"""
        return torch.addcmul(self.shift, obs, self.scale).clamp_(-CLIP, CLIP)

    def update(self, obs: Tensor) -> None:
        """obs: [batch, dim], not normalised"""
        self.statistics.update(obs)
        self._refresh()

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.statistics.load_state(state)
        self._refresh()

    def _refresh(self) -> None:
        deviation = (self.statistics.var + _EPSILON).sqrt()
        self.scale = (1 / deviation).float()
        self.shift = (-self.statistics.mean / deviation).float()


class RewardScaler:
    """Divides rewards by the running deviation of the discounted return; their mean stays, and so their sign."""

    def __init__(self, num_envs: int, gamma: float, device: torch.device) -> None:
        self.statistics = RunningStatistics(1, device)
        self.gamma = gamma
        self.sums = torch.zeros(num_envs, device=device)

    def apply(self, reward: Tensor, ended: Tensor) -> Tensor:
        """reward, ended: [num_steps, num_envs], the next steps of every environment. Counts them in first."""
        sums = discounted_sums(reward, ended, self.sums, self.gamma)
        self.sums = sums[-1] * ~ended[-1]
        self.statistics.update(sums.view(-1, 1))
        deviation = (self.statistics.var + _EPSILON).sqrt().float()
        return (reward / deviation).clamp_(-CLIP, CLIP)
