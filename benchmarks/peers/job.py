"""What one participant is asked to do, once. Standard library only: every peer's Python reads this."""

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """One run of one participant.

    measurement: to-target, throughput, side-by-side (throughput of one and of two at once), updates, stepping,
        return-at-steps or population (a search over hyperparameters, see tally.py)
    target, cap: of to-target and population: the mean return to reach, and the seconds of training that it may take
    env_steps: of return-at-steps: how many to train for; of population: over all agents, after how many to compare, or
        None for not at all
    slots, mode: of population: agents trained at once, and the mode of Podracer's tournament
    seconds: of throughput, updates and stepping: how long to measure, after a first iteration that is not counted
    num_envs, batch_rows, minibatch_rows, num_epochs: of throughput: PPO's, `batch_rows` env steps an iteration
    """

    measurement: str
    env_id: str
    algorithm: str = "ppo"
    seed: int = 1
    threads: int = 1
    target: float | None = None
    cap: float | None = None
    env_steps: int | None = None
    seconds: float = 8.0
    num_envs: int = 8
    batch_rows: int = 4096
    minibatch_rows: int = 1024
    num_epochs: int = 2
    slots: int = 2
    mode: str = ""

    def dump(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def load(cls, text: str) -> "Job":
        return cls(**json.loads(text))

    @property
    def num_steps(self) -> int:
        """Env steps of each environment in an iteration of throughput's PPO."""
        return self.batch_rows // self.num_envs


Answer = dict[str, Any]


def answer(measurements: Mapping[str, Callable[[Job], Answer]]) -> None:
    """A runner's `main`: does the job on the command line, prints what came of it as one JSON line, last."""
    job = Job.load(sys.argv[1])
    if job.measurement not in measurements:
        raise SystemExit(f"no {job.measurement} here; only {', '.join(measurements)}")
    print(json.dumps(measurements[job.measurement](job), allow_nan=False), flush=True)
