"""What the API takes and answers of workers."""

from pydantic import BaseModel, ConfigDict, Field

from webapp.tournaments.schemas import Answer


class DrainRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    now: bool = Field(False, description="what it runs saves its state, goes back into the queue and on elsewhere")


class GpuOut(Answer):
    """memory: in bytes, as in GpuUsageOut"""

    name: str
    memory: int


class GpuUsageOut(Answer):
    busy: list[float | None]
    memory: list[int | None]


class UsageOut(Answer):
    """The last minutes of its host as columns, a sample every `every` seconds, the newest last.

    cpu and busy are shares from 0 to 1, memory is in bytes; null where the driver does not say.
    """

    every: float
    cpu: list[float]
    memory: list[int]
    gpus: list[GpuUsageOut]


class RunningOut(Answer):
    """A pod on a slot; `progress` of its round is null where neither steps nor seconds bound it.

    Of a tournament that is not seen the names and ids are null.
    """

    slot: int
    pod: str | None
    agent: str | None
    agent_name: str | None
    color: int | None
    algorithm: str | None
    tournament: str | None
    tournament_name: str | None
    env_id: str | None
    env_steps: int
    round_env_steps: int | None
    progress: float | None
    env_steps_per_second: float


class MakingOut(Answer):
    """An export or a replay that it makes beside its slots."""

    kind: str
    name: str
    agent: str | None
    agent_name: str | None
    progress: float


class WorkerOut(Answer):
    """state: online, draining (it runs what it has and takes nothing more), drained, or offline (not heard of).

    drain: what is wanted of it: "", after (what it runs has ended) or now. What it has never said is empty or null.
    """

    id: str
    name: str
    device_kind: str
    slots: int
    seen_at: str
    state: str
    drain: str
    host: str
    cpu: str
    cores: int | None
    threads: int | None
    memory: int | None
    gpus: list[GpuOut]
    usage: UsageOut
    env_steps_per_second: float
    running: list[RunningOut]
    making: list[MakingOut]


class SlotsOut(Answer):
    """Slots that take pods by device kind, and the workers that are online, drained ones included."""

    cpu: int
    cuda: int
    workers: list[WorkerOut]
