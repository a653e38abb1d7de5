"""Synthetic learners and workers: what the simulator trains and on what, in place of networks and machines.

The response model has what makes population training hard, and nothing else:

- A founder has a ceiling that no training of its line passes: 500, but for a share `stuck` of them anywhere from 200
  to 470 (a policy in a local optimum). Nothing shows it from outside.
- Skill is ceiling x (1 - e^-progress). A round under the learning rate that is best just then adds 0.6 to progress,
  one that is off by a factor f adds 0.6 x exp(-ln(f)^2 / 2). The best rate is 3e-3 x e^(-progress / 2): it falls, so
  that a fixed one cannot be best all along.
- A round under more than 20 times the best rate diverges once in four.
- A return is skill plus a normal deviation of 60, at most 500: a score of 32 episodes is off by 10 or so.
- A slot has a pace (log-normal, deviation 0.25). A round takes `ROUND_SECONDS` over the pace, times a Pareto variable
  with exponent `tail` and minimum 1: with 2 its mean is 2, and the longest of 1,000 about 30. An evaluation takes
  0.5 s. A pod is lost with probability `loss`: its slot is away for 10 s, the lease, and what came after the last save
  (up to 5 s) is done again.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from podracer_core.hyperparameters import Value

MOST = 500.0
ROUND_SECONDS, EVALUATION_SECONDS, LEASE_SECONDS, SAVE_SECONDS = 30.0, 0.5, 10.0, 5.0
DEVIATION = 60.0

Schedule = tuple[tuple[float, float], ...]
"""(rounds, learning rate) one after another."""


@dataclass(frozen=True, slots=True)
class Learner:
    """What is hidden inside an agent. `schedule`: what its line trained with."""

    ceiling: float
    progress: float = 0.0
    schedule: Schedule = ()

    @property
    def skill(self) -> float:
        return self.ceiling * (1 - math.exp(-self.progress))


def founder(stuck: float, rng: np.random.Generator) -> Learner:
    return Learner(float(rng.uniform(200, 470)) if rng.random() < stuck else MOST)


def fused(parents: list[Learner]) -> Learner:
    """Of one founder, so of one ceiling."""
    progress = sum(parent.progress for parent in parents) / len(parents)
    return Learner(parents[0].ceiling, progress, parents[0].schedule)


def trained(learner: Learner, rounds: float, hyperparameters: Mapping[str, Value], rng: np.random.Generator) -> Learner:
    """After so many rounds; its ceiling is NaN once it has diverged."""
    rate, progress, left = float(hyperparameters["learning_rate"]), learner.progress, rounds
    while left > 0:
        part = min(1.0, left)
        factor = rate / (3e-3 * math.exp(-progress / 2))
        if factor > 20 and rng.random() < 0.25:
            return Learner(math.nan)
        progress += 0.6 * part * math.exp(-(math.log(factor) ** 2) / 2)
        left -= part
    return Learner(learner.ceiling, progress, (*learner.schedule, (rounds, rate)))


def evaluated(learner: Learner, episodes: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Returns of so many episodes."""
    return tuple(np.minimum(learner.skill + DEVIATION * rng.standard_normal(episodes), MOST).tolist())


@dataclass(frozen=True, slots=True)
class Workers:
    """The slots. pace: [slots]; tail: exponent of the round lengths' Pareto distribution; loss: of a pod"""

    pace: tuple[float, ...]
    tail: float
    loss: float

    @classmethod
    def drawn(cls, slots: int, tail: float, loss: float, rng: np.random.Generator) -> "Workers":
        return cls(tuple(rng.lognormal(0, 0.25, slots).tolist()), tail, loss)

    def seconds(self, slot: int, rounds: float, rng: np.random.Generator) -> tuple[float, float]:
        """How long a pod trains on `slot`, work that is done again included, and for how long the slot is away."""
        busy = rounds * ROUND_SECONDS / self.pace[slot] * (1 + float(rng.pareto(self.tail)))
        away = 0.0
        while rng.random() < self.loss:
            busy += float(rng.uniform(0, SAVE_SECONDS))
            away += LEASE_SECONDS
        return busy, away
