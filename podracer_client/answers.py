"""The answers of the API, as /api/openapi.json describes them; a test holds these types to it."""

from typing import Any, Literal, NotRequired, TypedDict

Value = bool | int | float | str

Status = Literal["DRAFT", "RUNNING", "PAUSED", "FINISHED", "STOPPED", "FAILED"]
ENDED = ("FINISHED", "STOPPED", "FAILED")


class PodCounts(TypedDict):
    QUEUED: int
    RUNNING: int
    FINISHED: int
    FAILED: int
    STOPPED: int


class Tournament(TypedDict):
    """Times are ISO 8601; `seconds` leaves pauses out; `progress` and `seconds_left` are None where unknown."""

    id: str
    name: str
    env_id: str
    status: str
    reason: str
    algorithms: list[str]
    owner: str
    project: str | None
    shared: bool
    archived: bool
    pool_size: int
    priority: int
    revision: int
    env_steps: int
    env_steps_per_second: float
    seconds: float
    seconds_left: float | None
    progress: float | None
    pods: PodCounts
    retried: int
    reevaluations: int
    reevaluations_changed: int
    best_score: float | None
    best_score_low: float | None
    best_score_high: float | None
    best_agent: str | None
    best_agent_name: str | None
    target_score: float | None
    sparkline: list[float]
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: dict[str, Any]


class Entry(TypedDict):
    """A place on the leaderboard; `beats_next` is the probability that it is better than the next agent.

    `kind` is agent or ensemble; an ensemble has neither rank nor colour, and its members as parents.
    """

    rank: int | None
    rank_change: int | None
    agent: str
    name: str
    color: int | None
    kind: str
    algorithm: str
    score: float
    score_low: float | None
    score_high: float | None
    episodes: int
    beats_next: float | None
    parents: list[str]
    parent_names: list[str]
    strategy: str
    changes: dict[str, list[Value]]
    env_steps: int
    total_env_steps: int


class Pod(TypedDict):
    id: str
    agent: str
    agent_name: str
    status: str
    attempt: int
    losses: int
    worker: str
    slot: int | None
    device: str
    strategy: str
    algorithm: str
    env_steps: int
    round_env_steps: int | None
    base_env_steps: int
    depth: int
    env_steps_per_second: float
    seconds: float
    episodic_return: float | None
    score: float | None
    start_seconds: float | None
    stepping_since: str | None
    reason: str
    queued_at: str
    started_at: str | None
    finished_at: str | None


class Event(TypedDict):
    id: str
    at: str
    kind: str
    text: str
    data: dict[str, Any]
    agent: str | None
    agent_name: str | None
    pod: str | None


class AgentName(TypedDict):
    id: str
    name: str


class Ancestor(AgentName):
    score: float | None
    strategy: str
    changes: dict[str, list[Value]]


class Confirmation(TypedDict):
    score: float | None
    score_low: float | None
    score_high: float | None
    episodes: int


class Checkpoint(TypedDict):
    size: int
    sha256: str
    filename: str


class Member(AgentName):
    """An agent of an ensemble."""

    color: int | None
    algorithm: str
    rank: int | None
    score: float | None
    score_low: float | None
    score_high: float | None


class Ensemble(TypedDict):
    """`status`: QUEUED, RUNNING, FINISHED or FAILED, for a `reason`; `members`: the best first."""

    agent: str
    name: str
    status: str
    progress: float
    reason: str
    members: list[AgentName]
    score: float | None
    score_low: float | None
    score_high: float | None
    episodes: int


class LogLine(TypedDict):
    at: str
    level: str
    text: str


class Agent(TypedDict):
    """`ancestry` is the line that its weights come down, the eldest first, itself last.

    An ensemble has `members` and no pod.
    """

    id: str
    name: str
    kind: str
    tournament: str
    tournament_name: str
    env_id: str
    algorithm: str
    color: int | None
    hyperparameters: dict[str, Value]
    num_envs: int | None
    seed: int
    strategy: str
    origin: str
    changes: dict[str, list[Value]]
    parents: list[AgentName]
    ancestry: list[Ancestor]
    status: str
    reason: str
    rank: int | None
    score: float | None
    score_low: float | None
    score_high: float | None
    mean: float | None
    iqm: float | None
    episodes: int
    returns: list[float | None]
    confirmation: Confirmation | None
    screening: Confirmation | None
    env_steps: int
    total_env_steps: int
    seconds: float
    pod: str | None
    members: list[Member]
    beats_best_member: float | None
    checkpoint: Checkpoint | None
    log: list[LogLine]


class Export(TypedDict):
    """An agent in another format: `status` QUEUED, RUNNING, FINISHED or FAILED with its reason."""

    status: str
    progress: float
    reason: str
    size: int | None
    sha256: str | None
    filename: str
    requested_at: str
    finished_at: str | None
    format: str
    observations: int | None
    max_difference: float | None


Curve = dict[str, list[Any]]
"""Columns of one length: env_steps, seconds, episodic_return (None where no episode ended) and the losses."""


class Message(TypedDict):
    """One message of a tournament's socket: `data` has the shape of the matching GET."""

    seq: int
    revision: int
    type: Literal["snapshot", "status", "leaderboard", "curve", "pod", "event"]
    data: Any


class Patch(TypedDict):
    """What of a tournament can be changed; what is left out stays."""

    name: NotRequired[str]
    pool_size: NotRequired[int]
    priority: NotRequired[int]
    archived: NotRequired[bool]
