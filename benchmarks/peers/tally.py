"""The clock, the evaluations and the account of a population's run: the same for every peer that searches.

A slot is what trains one agent at a time. Its clock starts when the peer's own training call does, after the imports
of the process that calls it; what that call imports and starts in further processes counts, for Podracer's pods do so
on its clock as well. A slot's clock stands still while this module has its agent play 20 deterministic episodes to be
looked at; evaluations that the peer's search needs run on its clock. The target is reached when such 20 episodes meet
it. Needs numpy and Gymnasium alone.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import gymnasium
import numpy as np

from benchmarks.peers.job import Answer, Job
from benchmarks.peers.training import Evaluate
from podracer_core.target_watch import TargetWatch

EPISODES = 20
LOOK_SECONDS = 10.0
"""An agent is looked at when its training returns promise the target, and so often in any case."""


@dataclass
class Report:
    """What one slot did since its last one.

    at: seconds on its clock; env_steps: trained; score: of a look, or None
    training, evaluating: seconds of its clock; evaluating: by the peer itself
    """

    at: float
    env_steps: int
    training: float
    evaluating: float = 0.0
    score: float | None = None


class SlotClock:
    """One slot's seconds since `began` (Unix time), less those that looks have taken."""

    def __init__(self, began: float, paused: float = 0.0) -> None:
        self.began, self.paused = began, paused

    @property
    def seconds(self) -> float:
        return time.time() - self.began - self.paused


class Looks:
    """When to look at the agent in a slot, and how."""

    def __init__(self, job: Job, clock: SlotClock, num_envs: int) -> None:
        self._job, self._clock, self._num_envs = job, clock, num_envs
        self._watch = TargetWatch(job.target, window=min(max(2 * num_envs, 10), 100))
        self._count, self._latest = 0, clock.seconds

    def episodes(self, returns: Sequence[float]) -> None:
        """Of training, as they ended."""
        self._watch.add(returns)

    def look(self, env_steps: int, evaluate: Evaluate, *, now: bool = False) -> float | None:
        """The mean of 20 fresh deterministic episodes, where a look is due (`now`: in any case); else None.

        env_steps: of this agent
        """
        clock = self._clock
        if not (now or self._watch.due(env_steps) or clock.seconds - self._latest >= LOOK_SECONDS):
            return None
        began = time.time()
        self._count += 1
        words = [self._job.seed, self._count, int(env_steps)]
        score = float(np.mean(evaluate(EPISODES, int(np.random.SeedSequence(words).generate_state(1)[0]))))
        longest = gymnasium.spec(self._job.env_id).max_episode_steps or 1000
        self._watch.missed(env_steps, longest * self._num_envs // 2)
        clock.paused += time.time() - began
        self._latest = clock.seconds
        return score


class Milestone:
    """Env steps after which everyone's scores are compared: it is looked at then."""

    def __init__(self, env_steps: float) -> None:
        self._env_steps, self._open = env_steps, True

    def passed(self, env_steps: float) -> bool:
        """True once, as soon as so many have been trained."""
        if self._open and env_steps >= self._env_steps:
            self._open = False
            return True
        return False


@dataclass
class Tally:
    """The account of all slots together.

    looks: (seconds, env steps of all slots, score), the best score so far wherever it rose
    """

    job: Job
    seconds: float = 0.0
    env_steps: int = 0
    training: float = 0.0
    evaluating: float = 0.0
    looks: list[tuple[float, int, float]] = field(default_factory=list)
    reached: tuple[float, int, float] | None = None

    def add(self, report: Report) -> bool:
        """Returns `over`."""
        self.seconds = max(self.seconds, report.at)
        self.env_steps += report.env_steps
        self.training += report.training
        self.evaluating += report.evaluating
        if report.score is not None:
            self._look(report.at, report.score)
        return self.over

    def _look(self, at: float, score: float) -> None:
        look = (round(at, 2), self.env_steps, round(score, 3))
        if not self.looks or score > self.looks[-1][2]:
            self.looks.append(look)
        target, cap = self.job.target, self.job.cap
        if self.reached is None and target is not None and score >= target and (cap is None or at <= cap):
            self.reached = look

    @property
    def over(self) -> bool:
        """The target is reached and there are scores to compare, or time is up."""
        enough = self.env_steps >= (self.job.env_steps or 0)
        return (self.reached is not None and enough) or (self.job.cap is not None and self.seconds >= self.job.cap)

    def result(self, **rest: object) -> Answer:
        """Of a run that missed its target, the seconds and env steps that it trained."""
        seconds, env_steps, score = self.reached or (self.seconds, self.env_steps, None)
        best = self.looks[-1][2] if self.looks else None
        slot_seconds = self.job.slots * self.seconds
        return {
            "env_id": self.job.env_id,
            "algorithm": self.job.algorithm,
            "seed": self.job.seed,
            "reached_target": self.reached is not None,
            "seconds": round(seconds, 2),
            "env_steps": env_steps,
            "score": best if score is None else score,
            "total_seconds": round(self.seconds, 2),
            "total_env_steps": self.env_steps,
            "training_seconds": round(self.training, 2),
            "evaluating_seconds": round(self.evaluating, 2),
            "busy": round(min(1.0, (self.training + self.evaluating) / slot_seconds), 4) if slot_seconds else 0.0,
            "looks": self.looks,
        } | rest
