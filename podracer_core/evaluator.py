"""Scores a policy by fresh deterministic episodes, on environments and seeds of its own."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from podracer_core.agents.episodes import Episodes, EpisodeTracker
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.limits import MOST_EPISODE_STEPS
from podracer_core.progress import Evaluation
from podracer_core.tournament.statistics import summarise

CHUNK = 32
"""Steps between two looks at which episodes ended."""

MAX_BATCHED_ENVS, MAX_GYMNASIUM_ENVS = 128, 8


class Evaluator:
    """Holds environments for evaluation, apart from those trained on. Rewards are the environment's own."""

    def __init__(self, env_id: str, device: torch.device | str, frame_stack: int = 1) -> None:
        self.env_id, self.device, self.frame_stack = env_id, device, frame_stack
        self._env: VectorEnv | None = None
        self._notes: list[str] = []
        entry = CATALOGUE.get(env_id)
        self._batched = entry is not None and "batched" in entry.backends

    def evaluate(
        self,
        act: Callable[[Tensor], Tensor],
        episodes: int,
        seed: int,
        kind: Literal["mean", "iqm", "lower_bound"] = "mean",
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Evaluation | None:
        """`episodes` whole episodes of `act`, which maps obs [n, *observation] to environment actions.

        None when `interrupted`, asked at every step, says so.
        """
        env = self._environment(episodes)
        played = play(env, act, episodes, seed, interrupted)
        if played is None:
            return None
        if env.max_episode_steps is None:
            self._note_cut(int((played.lengths >= MOST_EPISODE_STEPS).sum()), episodes)
        return summarise(list(played.returns), [int(n) for n in played.lengths], kind, seed=seed)

    def cost(self, evaluation: Evaluation, num_envs: int) -> int:
        """Env steps of training, on `num_envs` environments, that take about as long as `evaluation` took.

        Batched environments pay by the step of all, others by the step of each.
        """
        return max(evaluation.lengths) * num_envs if self._batched else 2 * sum(evaluation.lengths)

    def glance(self, episodes: int) -> int:
        """How many of `episodes` to play first where most policies will fail: fewer where each episode costs."""
        return episodes if self._batched else min(episodes, MAX_GYMNASIUM_ENVS)

    def notes(self) -> list[str]:
        """What its user should know and was not told before, in sentences."""
        notes, self._notes = self._notes, []
        return notes

    def _note_cut(self, cut: int, episodes: int) -> None:
        if cut:
            self._notes.append(
                f"{cut} of {episodes} episodes of an evaluation had not ended after {MOST_EPISODE_STEPS:,} steps and "
                f"count as they stood then; {self.env_id} has no max_episode_steps."
            )

    def close(self) -> None:
        if self._env:
            self._env.close()
            self._env = None

    def _environment(self, episodes: int) -> VectorEnv:
        num_envs = min(episodes, MAX_BATCHED_ENVS if self._batched else MAX_GYMNASIUM_ENVS)
        if self._env is None or self._env.num_envs != num_envs:
            self.close()
            self._env = make_vector_env(self.env_id, num_envs, self.device, self.frame_stack)
        return self._env


def play(
    env: VectorEnv,
    act: Callable[[Tensor], Tensor],
    episodes: int,
    seed: int,
    interrupted: Callable[[], bool] = lambda: False,
) -> Episodes | None:
    """Exactly `episodes` episodes, each environment its own share of them, whichever end first.

    Taking the first ones to end instead would favour short episodes. None when `interrupted` says so.
    """
    quota = np.full(env.num_envs, episodes // env.num_envs)
    quota[: episodes % env.num_envs] += 1
    tracker, played = EpisodeTracker(env.num_envs), _Played(quota)
    obs, num_steps = env.reset(seed), 0
    most_steps = env.max_episode_steps or MOST_EPISODE_STEPS
    limit = most_steps * int(quota.max())
    while True:
        rewards, ended = [], []
        for _ in range(min(CHUNK, most_steps - num_steps % most_steps)):
            if interrupted():
                return None
            step = env.step(act(obs))
            obs = step.obs
            rewards.append(step.reward)
            ended.append(step.terminated | step.truncated)
        num_steps += len(rewards)
        played.add(tracker.add(torch.stack(rewards), torch.stack(ended)))
        if num_steps >= limit:
            played.add_running(tracker)
        elif env.max_episode_steps is None:
            played.add_running(tracker, tracker.running_length >= most_steps)
        if played.complete:
            return played.episodes()


class _Played:
    """Keeps each environment's first episodes, as many as its quota [num_envs] says."""

    def __init__(self, quota: npt.NDArray[np.int64]) -> None:
        self._left = quota.copy()
        self._rows: list[tuple[int, float, int]] = []

    @property
    def complete(self) -> bool:
        return not self._left.any()

    def add(self, episodes: Episodes) -> None:
        for env, episodic_return, length in zip(*episodes, strict=True):
            if self._left[env]:
                self._left[env] -= 1
                self._rows.append((int(env), float(episodic_return), int(length)))

    def add_running(self, tracker: EpisodeTracker, which: npt.NDArray[np.bool_] | bool = True) -> None:
        """At the step limit the episode still running counts as it stands, and stands for those not begun.

        which: of the environments are at theirs, [num_envs]
        """
        for env in np.nonzero(self._left * which)[0]:
            row = (int(env), float(tracker.running_return[env]), int(tracker.running_length[env]))
            self._rows += [row] * int(self._left[env])
            self._left[env] = 0

    def episodes(self) -> Episodes:
        env, returns, lengths = zip(*sorted(self._rows, key=lambda row: row[0]), strict=True)
        return Episodes(np.array(env), np.array(returns), np.array(lengths))
