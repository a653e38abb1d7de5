"""The clock, the target and the evaluations of a peer's training run: the same for every peer.

The clock starts with `Training(...)`, after the imports, before environments and networks are made. It stands still
while an evaluation runs, so that a peer pays nothing for being looked at; Podracer's own clock does not (see
`podracer_core train`). When to look is decided by Podracer's own rule, `podracer_core.target_watch`: early, for the
deterministic policy reaches a target before the returns of training do. Needs numpy and Gymnasium alone.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from benchmarks.peers.job import Answer, Job
from podracer_core.progress import Evaluation
from podracer_core.target_watch import TargetWatch
from podracer_core.tournament.statistics import summarise

EVAL_EPISODES, CONFIRM_EPISODES, FINAL_EPISODES = 32, 100, 100
EVAL_ENVS = 16
CURVE_INTERVAL = 0.1

Act = Callable[[np.ndarray], np.ndarray]
"""The deterministic policy: observations [n, ...] to what `step` takes, [n] or [n, action_dim]."""

Evaluate = Callable[[int, int], Sequence[float]]
"""Plays that many fresh deterministic episodes, with that seed; returns their undiscounted returns."""


class Training:
    """One training run. `episode` what ended, `look` after each update, `result` in the end.

    num_envs: environments trained on at once
    ended: whether training should stop: the target is confirmed, or time or env steps are used up
    """

    def __init__(self, job: Job, num_envs: int) -> None:
        self.job, self.num_envs = job, num_envs
        self.watch = TargetWatch(job.target, window=min(max(2 * num_envs, 10), 100))
        self.ended = self.reached = False
        self.env_steps = 0
        self.curve: list[tuple[float, int, float]] = []
        self._evaluation: Evaluation | None = None
        self._evaluations = 0
        self._paused = 0.0
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Of training, without evaluations."""
        return time.perf_counter() - self._began - self._paused

    def episode(self, episodic_return: float) -> None:
        """A training episode ended; its undiscounted return, as the environment gave it."""
        self.watch.add([float(episodic_return)])

    def look(self, env_steps: int, evaluate: Evaluate) -> bool:
        """After an update: evaluates where that promises something. Returns `ended`."""
        self.env_steps = env_steps
        self._draw()
        if self.watch.due(env_steps) and not self.reached:
            self._try(evaluate)
        job = self.job
        self.ended = (
            self.reached
            or (job.cap is not None and self.seconds >= job.cap)
            or (job.env_steps is not None and env_steps >= job.env_steps)
        )
        return self.ended

    def result(self, evaluate: Evaluate) -> Answer:
        """What `podracer_core train --json` prints, and the learning curve: (seconds, env steps, return)."""
        seconds = self.seconds
        self._draw(last=True)
        if not self.reached:
            if self.job.target is None:
                with self._pause():
                    self._evaluation = self._evaluate(evaluate, FINAL_EPISODES)
            else:
                self._try(evaluate)
        assert self._evaluation is not None
        return {
            "env_id": self.job.env_id,
            "algorithm": self.job.algorithm,
            "seed": self.job.seed,
            "env_steps": self.env_steps,
            "seconds": round(seconds, 3),
            "env_steps_per_second": round(self.env_steps / seconds, 1),
            "score": number(self._evaluation.score),
            "score_low": number(self._evaluation.score_low),
            "score_high": number(self._evaluation.score_high),
            "episodes": self._evaluation.episodes,
            "reached_target": self.reached,
            "evaluation_seconds": round(self._paused, 3),
            "curve": self.curve,
        }

    def _draw(self, last: bool = False) -> None:
        mean, seconds = self.watch.episodic_return, self.seconds
        if mean is None or (self.curve and not last and seconds - self.curve[-1][0] < CURVE_INTERVAL):
            return
        self.curve.append((round(seconds, 2), self.env_steps, round(mean, 2)))

    def _try(self, evaluate: Evaluate) -> None:
        """Evaluates and, where the target is met, confirms it with further episodes."""
        target = self.job.target
        assert target is not None
        with self._pause():
            self._evaluation = self._evaluate(evaluate, EVAL_EPISODES)
            if self._evaluation.score >= target:
                self._evaluation = self._evaluate(evaluate, CONFIRM_EPISODES)
                self.reached = self._evaluation.score >= target
        if not self.reached:
            longest = gymnasium.spec(self.job.env_id).max_episode_steps or 1000
            self.watch.missed(self.env_steps, longest * self.num_envs // 2)

    def _evaluate(self, evaluate: Evaluate, episodes: int) -> Evaluation:
        self._evaluations += 1
        seed = int(np.random.SeedSequence([self.job.seed, self._evaluations]).generate_state(1)[0])
        returns = [float(value) for value in evaluate(episodes, seed)]
        return summarise(returns, [0] * len(returns))

    @contextmanager
    def _pause(self) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._paused += time.perf_counter() - began


class Evaluator:
    """Single Gymnasium environments, acted on together.

    make: makes one environment
    """

    def __init__(self, act: Act, make: Callable[[], Any]) -> None:
        self._act, self._make = act, make
        self._envs: list[Any] = []

    def __call__(self, episodes: int, seed: int) -> list[float]:
        """Each environment plays its own share, whichever episodes end first."""
        while len(self._envs) < min(EVAL_ENVS, episodes):
            self._envs.append(self._make())
        envs = self._envs[:episodes]
        seeds = np.random.SeedSequence(seed).generate_state(len(envs)).tolist()
        left = np.full(len(envs), episodes // len(envs))
        left[: episodes % len(envs)] += 1
        obs = np.stack([env.reset(seed=word)[0] for env, word in zip(envs, seeds, strict=True)])
        running, returns = np.zeros(len(envs)), []
        while left.any():
            actions = self._act(obs)
            for i in np.nonzero(left)[0]:
                obs[i], reward, terminated, truncated, _ = envs[i].step(actions[i])
                running[i] += float(reward)
                if terminated or truncated:
                    returns.append(float(running[i]))
                    running[i] = 0.0
                    left[i] -= 1
                    obs[i], _ = envs[i].reset()
        return returns


class Rate:
    """Counts over `seconds`, from the end of a first iteration that is not counted."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self._first = self._latest = self._at = 0.0
        self._cpu_began = self._cpu_at = 0.0

    def look(self, count: float) -> bool:
        """`count` so far, at the end of an iteration. Returns whether that is enough."""
        now, cpu = time.perf_counter(), time.process_time()
        if self._began is None:
            self._began, self._cpu_began, self._first = now, cpu, count
            return False
        self._latest, self._at, self._cpu_at = count, now, cpu
        return now - self._began >= self._seconds

    def result(self, unit: str) -> Answer:
        """`unit`, `seconds` and `<unit>_per_second`; `cpu_seconds`: of all threads, which tells how many worked."""
        assert self._began is not None
        count, seconds = self._latest - self._first, self._at - self._began
        return {
            unit: count,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(self._cpu_at - self._cpu_began, 3),
            f"{unit}_per_second": round(count / seconds, 2),
        }


def number(value: float) -> float | None:
    """As strict JSON has it."""
    return value if math.isfinite(value) else None
