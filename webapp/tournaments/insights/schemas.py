"""What the API answers of a tournament's lineage, hyperparameters and slots: columns, whose lists have one length."""

from pydantic import BaseModel, ConfigDict

from webapp.tournaments.schemas import Value


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class LineageColumns(_Answer):
    """`parents`: ids; `inherits_from`: of these the one whose weights it goes on with, null for one from scratch.

    `began`, `ended`: seconds since the tournament's start; `env_steps`: those of all its line.
    """

    id: list[str]
    name: list[str]
    algorithm: list[str]
    strategy: list[str]
    depth: list[int]
    inherits_from: list[str | None]
    parents: list[list[str]]
    status: list[str]
    score: list[float | None]
    rank: list[int | None]
    color: list[int | None]
    env_steps: list[int]
    began: list[float | None]
    ended: list[float | None]


class LineageOut(_Answer):
    """Every agent there ever was, in the order of creation. `champion` is the id of the best."""

    champion: str | None
    agents: LineageColumns


class GivenColumns(_Answer):
    id: list[str]
    name: list[str]
    score: list[float | None]
    color: list[int | None]
    rank: list[int | None]
    strategy: list[str]


class Axis(_Answer):
    """A hyperparameter. `kind` and `space` are its search space: ends, or choices; `values` one an agent or segment."""

    name: str
    kind: str
    space: list[Value]
    values: list[Value | None]


class LevelOut(_Answer):
    """Agents with a value from `low` to `high`, and the mean rank of their scores: 0 the worst, 1 the best."""

    low: Value
    high: Value
    agents: int
    rank: float


class ImportanceOut(_Answer):
    """`share` of the variance of score ranks that the hyperparameter explains by itself, with its 95 % interval."""

    name: str
    share: float
    low: float
    high: float
    levels: list[LevelOut]


class ImportancesOut(_Answer):
    """`items` from the most important on; empty where `problem` says why none can be told."""

    problem: str | None
    agents: int
    founders: int
    items: list[ImportanceOut]


class AlgorithmOut(_Answer):
    """An algorithm's agents, and each of its hyperparameters that differs between them."""

    name: str
    agents: GivenColumns
    axes: list[Axis]
    importance: ImportancesOut


class SegmentColumns(_Answer):
    """From env step `begin` to `end` it was `agent` that trained."""

    agent: list[str]
    name: list[str]
    strategy: list[str]
    begin: list[int]
    end: list[int]


class ScheduleOut(_Answer):
    """What an agent's line trained with, one segment after another; the `axes` that changed come first."""

    agent: str
    name: str
    segments: SegmentColumns
    axes: list[Axis]


class HyperparametersOut(_Answer):
    """`schedule` is that of the champion's line, null while there is no champion."""

    algorithms: list[AlgorithmOut]
    schedule: ScheduleOut | None


class SlotColumns(_Answer):
    """`first`: when its first pod began; from there on `busy` is the share of the time with the tournament's pods and
    `elsewhere` that with pods of others, pauses left out. Null for a slot that has run none.
    """

    worker: list[str]
    slot: list[int]
    device: list[str]
    first: list[float | None]
    busy: list[float | None]
    elsewhere: list[float | None]


class BarColumns(_Answer):
    """The current or last attempt of each pod. `row` counts the slots from 0."""

    row: list[int]
    agent: list[str]
    name: list[str]
    status: list[str]
    attempt: list[int]
    score: list[float | None]
    rank: list[int | None]
    color: list[int | None]
    begin: list[float]
    end: list[float]


class ElsewhereColumns(_Answer):
    row: list[int]
    begin: list[float]
    end: list[float]


class PauseColumns(_Answer):
    begin: list[float]
    end: list[float]


class SlotUseOut(_Answer):
    """Times are seconds since `began`; `seconds` is the end of the chart, now where it is `live`.

    `busy` and `idle_seconds` are of all slots together. Of `attempts` so many are shown: earlier ones are not kept.
    """

    began: str | None
    seconds: float
    live: bool
    slots: SlotColumns
    bars: BarColumns
    elsewhere: ElsewhereColumns
    pauses: PauseColumns
    busy: float | None
    idle_seconds: float
    attempts: int
    attempts_shown: int
