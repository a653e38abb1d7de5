"""An agent as a run of TensorBoard: what it was made with, its curve by env steps, its evaluation, how it ended."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from podracer_core.tensorboard import event
from podracer_core.tensorboard.tfrecord import framed

BATCH = 2000
"""Points that are in memory at once."""

FLOAT32_MAX = 3.4028234663852886e38

Point = tuple[int, float, float | None, Mapping[str, float | None]]
"""env_steps, seconds, episodic_return, losses: as the pod reported them"""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """at: Unix time; values: by name, None where one is not known"""

    at: float
    env_steps: int
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Run:
    """started_at, ended_at: Unix time of its pod, ended_at None while that trains; base_env_steps: of the line that the
    agent inherits, which its steps are counted from as the pages do; hyperparameters: with what else made it
    """

    started_at: float
    hyperparameters: Mapping[str, Any]
    base_env_steps: int
    evaluation: Evaluation | None
    ended_at: float | None
    failed: bool

    @property
    def filename(self) -> str:
        """TensorBoard looks for the word tfevents."""
        return f"events.out.tfevents.{int(self.started_at)}.podracer"


def run_name(name: str, rank: int | None, board_size: int) -> str:
    """The folder of an agent's run, so that a list of all has the leaderboard first, in its order."""
    return f"others/{name}" if rank is None else f"board/{rank:0{len(str(board_size))}}-{name}"


def event_file(run: Run, points: Iterable[Point]) -> Iterator[bytes]:
    """The run's file in pieces. What is not known, or no float32 can hold, is left out."""
    start = event.session_start(run.started_at, {name: _hparam(value) for name, value in run.hyperparameters.items()})
    yield framed([event.first(run.started_at), start])
    rest = iter(points)
    while batch := list(islice(rest, BATCH)):
        yield framed([record for point in batch if (record := _point(run, point))])
    yield framed(list(_end(run)))


def _hparam(value: Any) -> event.Value:
    return value if isinstance(value, str | bool | int | float) else str(value)


def _point(run: Run, point: Point) -> bytes | None:
    env_steps, seconds, episodic_return, losses = point
    values = [("training/episodic_return", episodic_return)]
    values += [(f"learner/{name}", value) for name, value in losses.items()]
    return _scalars(run.started_at + seconds, run.base_env_steps + env_steps, values)


def _end(run: Run) -> Iterator[bytes]:
    evaluation = run.evaluation
    if evaluation:
        values = [(f"evaluation/{name}", value) for name, value in evaluation.values.items()]
        if record := _scalars(evaluation.at, run.base_env_steps + evaluation.env_steps, values):
            yield record
    if run.ended_at is not None:
        yield event.session_end(run.ended_at, event.FAILURE if run.failed else event.SUCCESS)


def _scalars(wall_time: float, step: int, values: Iterable[tuple[str, float | None]]) -> bytes | None:
    """None where nothing of it is known."""
    known = [(tag, value) for tag, value in values if value is not None and _holds(value)]
    return event.scalars(wall_time, step, known) if known else None


def _holds(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= FLOAT32_MAX
