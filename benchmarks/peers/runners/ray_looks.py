"""What each of Ray Tune's trials does for our account, in the trial's own process.

A module of its own, so that Ray imports it there by its name and what it remembers is one process's. A trial that
exploits another goes on in a new process: what its looks have taken is therefore kept in a file.
"""

import os
from collections import deque
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.connectors.env_to_module import MeanStdFilter
from ray.rllib.utils.spaces.space_utils import unsquash_action

from benchmarks.peers.job import Job
from benchmarks.peers.tally import Looks, Milestone, SlotClock
from benchmarks.peers.training import Act, Evaluator

FOLDER, JOB = "PEERS_FOLDER", "PEERS_JOB"
"""Environment variables: where `began` is, and the job as JSON."""

_ENV_STEPS = "num_env_steps_sampled"
_MEAN = "episode_return_mean"
_returns: list[float] = []


class Looking(RLlibCallback):
    """Adds "report" to every result: what `tally.Report` says."""

    def __init__(self) -> None:
        super().__init__()
        self._looks: Looks | None = None
        self._latest: deque[float] = deque(maxlen=100)  # as many as RLlib averages

    def on_episode_end(self, *, episode: Any, **rest: Any) -> None:
        _returns.append(float(episode.get_return()))

    def on_train_result(self, *, algorithm: Any, result: dict[str, Any], **rest: Any) -> None:
        job, kept = Job.load(os.environ[JOB]), Path(os.environ[FOLDER]) / str(algorithm.trial_id)
        if self._looks is None:
            began = float((Path(os.environ[FOLDER]) / "began").read_text())
            self._clock = SlotClock(began, float(kept.read_text()) if kept.exists() else 0.0)
            self._looks = Looks(job, self._clock, algorithm.config.num_envs_per_env_runner)
            self._milestone = Milestone((job.env_steps or 0) / job.slots)
        self._looks.episodes(_returns)
        self._latest.extend(_returns)
        _returns.clear()
        at, runners = self._clock.seconds, result["env_runners"]
        if self._latest:  # RLlib says NaN for an iteration in which no episode ended, which PBT cannot rank
            runners[_MEAN] = float(np.mean(self._latest))
        else:
            runners.pop(_MEAN, None)
        lifetime = int(runners[f"{_ENV_STEPS}_lifetime"])
        now = self._milestone.passed(lifetime) or (job.cap is not None and at >= job.cap)
        score = self._looks.look(lifetime, Evaluator(act_of(algorithm), lambda: gymnasium.make(job.env_id)), now=now)
        kept.write_text(str(self._clock.paused))
        result["report"] = {
            "at": at,
            "env_steps": int(runners[_ENV_STEPS]),
            "training": float(result["time_this_iter_s"]),
            "score": score,
        }


def act_of(algorithm: Any) -> Act:
    """RLlib's policy without exploration, through the trial's own observation filter, actions scaled as RLlib does."""
    runner, module = algorithm.env_runner, algorithm.get_module()
    filters = [piece for piece in runner._env_to_module.connectors if isinstance(piece, MeanStdFilter)]
    space = gymnasium.make(algorithm.config.env).action_space

    def act(obs: np.ndarray) -> np.ndarray:
        for piece in filters:
            obs = np.stack([piece._filters[None](row, update=False) for row in obs])
        seen = torch.as_tensor(np.asarray(obs, np.float32))
        inputs = module.forward_inference({"obs": seen})["action_dist_inputs"]
        action = module.get_inference_action_dist_cls().from_logits(inputs).to_deterministic().sample().numpy()
        return action if isinstance(space, gymnasium.spaces.Discrete) else unsquash_action(action, space)

    return act
