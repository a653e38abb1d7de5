"""How learners from a replay buffer explore: the noise behind their actions, and what those mean to an environment."""

import math
from typing import Protocol

import torch
from torch import Tensor

from podracer_core.envs.vector_env import VectorEnv


class Actions(Protocol):
    """columns: numbers that an action has in a replay buffer"""

    columns: int

    def noise(self, steps: int, generator: torch.Generator) -> Tensor:
        """[steps, num_envs, action_dim]: the randomness of the next steps, all drawn at once."""
        ...

    def random(self, noise: Tensor) -> Tensor:
        """[num_envs, columns]: actions that are uniformly distributed; noise: of one step."""
        ...

    def to_env(self, action: Tensor) -> Tensor:
        """action: [batch, columns]. Returns it as the environment takes it."""
        ...

    def state(self) -> dict[str, Tensor]: ...

    def load_state(self, state: dict[str, Tensor]) -> None: ...


class NormalNoise:
    """Standard normal numbers, those of one step correlated with the next step's.

    correlation: 0 to below 1. That is the process of Uhlenbeck and Ornstein (1930) that DDPG explored with (arXiv
        1509.02971), its deviation held at 1: it pushes a while in one direction, where independent noise only trembles.
    """

    def __init__(self, env: VectorEnv, correlation: float) -> None:
        self.correlation = correlation
        self._latest = torch.zeros(env.num_envs, env.action_dim, device=env.device)

    def draw(self, steps: int, generator: torch.Generator) -> Tensor:
        """[steps, num_envs, action_dim]"""
        noise = torch.randn((steps, *self._latest.shape), generator=generator, device=self._latest.device)
        if self.correlation:
            fresh = math.sqrt(1 - self.correlation**2)
            for step in noise:
                self._latest = step.mul_(fresh).add_(self._latest, alpha=self.correlation)
        return noise

    def state(self) -> dict[str, Tensor]:
        return {"noise": self._latest.cpu().clone()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self._latest = state["noise"].to(self._latest.device)


class BoxActions(NormalNoise):
    """Actions between -1 and 1, which are the environment's bounds. Noise is standard normal."""

    def __init__(self, env: VectorEnv, correlation: float) -> None:
        super().__init__(env, correlation)
        assert env.action_low is not None
        assert env.action_high is not None
        self.columns = env.action_dim
        self._centre, self._half_range = (env.action_high + env.action_low) / 2, (env.action_high - env.action_low) / 2

    def noise(self, steps: int, generator: torch.Generator) -> Tensor:
        return self.draw(steps, generator)

    def random(self, noise: Tensor) -> Tensor:
        """The normal distribution's own function makes what is normal uniform, correlated or not."""
        return torch.erf(noise * math.sqrt(0.5))

    def to_env(self, action: Tensor) -> Tensor:
        return torch.addcmul(self._centre, action, self._half_range)


class DiscreteActions(NormalNoise):
    """Actions counted from 0. Noise is negative Gumbel: the log of a standard exponential, see `policies`. Where it is
    correlated an action is more likely to come again; how likely each is stays the same."""

    columns = 1

    def noise(self, steps: int, generator: torch.Generator) -> Tensor:
        uniform: Tensor = torch.special.ndtr(self.draw(steps, generator))
        return uniform.log_().neg_().log_()

    def random(self, noise: Tensor) -> Tensor:
        return noise.argmin(1, keepdim=True)

    def to_env(self, action: Tensor) -> Tensor:
        return action.squeeze(1)
