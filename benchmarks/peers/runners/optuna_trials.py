"""Optuna over Stable-Baselines3's PPO: four trials, as many processes at once as there are slots, one study.

Sampler and the way of several processes are Optuna's own defaults (TPE; a journal file that they share,
https://optuna.readthedocs.io/en/stable/tutorial/10_key_features/004_distributed.html), and its pruners need more
trials than these to begin. PPO's other settings are RL Baselines3 Zoo's, but two layers of 64 as for everyone. A
trial trains the Zoo's env steps, or the share of the time that four trials in the slots leave each. What it is judged
by, 20 deterministic episodes in the end, is not on its clock.
"""

import multiprocessing
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from benchmarks.peers.contests import SEARCHES
from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.stable_baselines3 import ACTIVATIONS, made
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.tally import Looks, Milestone, Report, SlotClock, Tally
from benchmarks.peers.training import Evaluator
from benchmarks.peers.zoo import settings

TRIALS = 4
WAIT_SECONDS = 1.0

Send = Callable[[Report], None]


def population(job: Job) -> Answer:
    """The parent keeps the account; the slots' processes are forked, so that nobody imports on the clock."""
    warm_up(job.threads)
    context = multiprocessing.get_context("fork")
    reports, stop, tally = context.Queue(), context.Event(), Tally(job)
    with TemporaryDirectory() as folder:
        _study(job, folder, 0)
        began = time.time()
        slots = [
            context.Process(target=_slot, args=(job, folder, number, began, reports.put, stop.is_set))
            for number in range(job.slots)
        ]
        for slot in slots:
            slot.start()
        while any(slot.is_alive() for slot in slots) or not reports.empty():
            try:
                over = tally.add(reports.get(timeout=WAIT_SECONDS))
            except queue.Empty:
                continue
            if over:
                stop.set()
        for slot in slots:
            slot.join()
    if any(slot.exitcode for slot in slots):
        raise SystemExit("a slot's process failed")
    return tally.result(agents=TRIALS)


def _study(job: Job, folder: str, number: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(Path(folder) / "study.log"))),
        study_name="ppo",
        sampler=optuna.samplers.TPESampler(seed=job.seed * job.slots + number),
        direction="maximize",
        load_if_exists=True,
    )


def _slot(job: Job, folder: str, number: int, began: float, send: Send, stopped: Callable[[], bool]) -> None:
    clock, account = SlotClock(began), _Account(send, Milestone((job.env_steps or 0) / job.slots))

    def objective(trial: optuna.Trial) -> float:
        if stopped():
            trial.study.stop()
            raise optuna.TrialPruned
        return _Trial(job, trial, clock, account, stopped).train()

    _study(job, folder, number).optimize(objective, n_trials=TRIALS // job.slots)


@dataclass
class _Account:
    """What a slot's trials report to. env_steps: of all of them"""

    send: Send
    milestone: Milestone
    env_steps: int = 0


class _Trial:
    """One agent, trained with what the trial draws."""

    def __init__(
        self, job: Job, trial: optuna.Trial, clock: SlotClock, account: _Account, stopped: Callable[[], bool]
    ) -> None:
        self._job, self._clock, self._account, self._stopped = job, clock, account, stopped
        chosen, kept = _settings(job, trial), ("n_envs", "n_timesteps", "normalize")
        self._num_envs, self._env_steps = int(chosen.get("n_envs", 1)), int(chosen["n_timesteps"])
        self._normalize = bool(chosen.get("normalize"))
        rest = {name: value for name, value in chosen.items() if name not in kept}
        seed = job.seed * TRIALS + trial.number
        self._env: Any = make_vec_env(job.env_id, n_envs=self._num_envs, seed=seed)
        if self._normalize:
            self._env = VecNormalize(self._env, gamma=rest.get("gamma", 0.99))
        self._model = PPO("MlpPolicy", self._env, seed=seed, **made(rest, ACTIVATIONS), device="cpu")
        assert job.cap is not None
        self._until = clock.seconds + job.cap * job.slots / TRIALS
        self._looks = Looks(job, clock, self._num_envs)
        self._evaluate = Evaluator(self._act, lambda: gymnasium.make(job.env_id))
        self._reported, self._at = 0, clock.seconds
        self._score = -np.inf

    def train(self) -> float:
        self._model.learn(self._env_steps, callback=_Watch(self))
        self.report(now=True)
        return float(self._score)

    def report(self, *, now: bool = False) -> None:
        """After an update."""
        steps = self._model.num_timesteps
        took, account = self._clock.seconds - self._at, self._account
        account.env_steps += steps - self._reported
        passed = account.milestone.passed(account.env_steps)
        score = self._looks.look(steps, self._evaluate, now=now or passed)
        self._score = self._score if score is None else score
        self._at = self._clock.seconds
        account.send(Report(self._at, steps - self._reported, training=took, score=score))
        self._reported = steps

    def episode(self, value: float) -> None:
        self._looks.episodes([value])

    @property
    def ended(self) -> bool:
        return self._stopped() or self._clock.seconds >= self._until

    def _act(self, obs: np.ndarray) -> np.ndarray:
        seen = self._env.normalize_obs(obs) if self._normalize else obs
        return np.asarray(self._model.predict(seen, deterministic=True)[0])


class _Watch(BaseCallback):
    """Tells the trial what ends, and has it report after each update."""

    def __init__(self, trial: _Trial) -> None:
        super().__init__()
        self._trial = trial

    def _on_rollout_start(self) -> None:
        self._trial.report()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                self._trial.episode(float(info["episode"]["r"]))
        return not self._trial.ended


def _settings(job: Job, trial: optuna.Trial) -> dict[str, Any]:
    """The Zoo's with what is searched drawn; what falls linearly there falls from the drawn value."""
    zoo, search = settings(job.algorithm, job.env_id), SEARCHES[job.env_id]
    drawn = {
        "learning_rate": trial.suggest_float("learning_rate", *search.learning_rate, log=True),
        "clip_range": trial.suggest_float("clip_range", *search.clip_coef),
        "ent_coef": trial.suggest_float("ent_coef", *search.ent_coef),
    }
    falling = {name: f"lin_{value}" for name, value in drawn.items() if str(zoo.get(name)).startswith("lin_")}
    layers = {"policy_kwargs": zoo.get("policy_kwargs", {}) | {"net_arch": [64, 64]}}
    return zoo | drawn | falling | layers


if __name__ == "__main__":
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    answer({"population": population})
