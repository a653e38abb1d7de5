"""Where a pod is in what it has to train: one round under one set of hyperparameters, or a line of descent again."""

from typing import Any

import numpy as np

from podracer_core.hyperparameters import Value
from podracer_core.spec import PodPlan


class Schedule:
    """The plan's segments one after another; a plan without a schedule is one segment, as long as its round.

    index: of the current segment; start: env steps before it
    """

    def __init__(self, plan: PodPlan) -> None:
        self._plan = plan
        self.index = self.start = 0

    @property
    def hyperparameters(self) -> dict[str, Value]:
        return self._plan.schedule[self.index].hyperparameters if self._plan.schedule else self._plan.hyperparameters

    @property
    def num_envs(self) -> int:
        return self._plan.schedule[self.index].num_envs if self._plan.schedule else self._plan.num_envs

    @property
    def seed(self) -> int:
        """Of the learner that trains the current segment."""
        if not self.index:
            return self._plan.seed
        return int(np.random.SeedSequence([self._plan.seed, 0, self.index]).generate_state(1)[0])

    def remaining(self, env_steps: int, of_round: float) -> float:
        """The share of the segment that is left, 1 to 0: each ancestor annealed over a round of its own."""
        if not self._plan.schedule:
            return of_round
        return max(0.0, 1.0 - (env_steps - self.start) / self._plan.schedule[self.index].env_steps)

    def env_steps_left(self, env_steps: int, of_round: int | None) -> int | None:
        """In the segment, or in the round where that ends first; None where env steps are not counted."""
        if not self._plan.schedule:
            return of_round
        left = self.start + self._plan.schedule[self.index].env_steps - env_steps
        return left if of_round is None else min(left, of_round)

    def next_due(self, env_steps: int) -> bool:
        """Whether the segment is over and another follows."""
        return self.index + 1 < len(self._plan.schedule) and self.remaining(env_steps, 0.0) <= 0

    def advance(self, env_steps: int) -> None:
        self.index, self.start = self.index + 1, env_steps

    def state(self) -> dict[str, int]:
        return {"segment": self.index, "segment_start": self.start}

    def load_state(self, state: dict[str, Any]) -> None:
        """States from before there were schedules are of the first segment."""
        self.index, self.start = state.get("segment", 0), state.get("segment_start", 0)
