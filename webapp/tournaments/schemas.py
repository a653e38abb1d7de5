"""What the REST API takes and answers, for its validation and its documentation.

The bodies of answers are made by `selectors`; tests hold them to the models here.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from podracer_core.envs.catalogue import CatalogueEntry
from podracer_core.spec import TournamentSpec

MAX_LIMIT = 1000

Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
Offset = Annotated[int, Field(ge=0, le=10**9)]
Value = bool | int | float | str


class TournamentPatch(BaseModel):
    """What of a tournament can be changed; what is left out stays."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = Field(None, description="1 to 120 characters")
    pool_size: int | None = Field(None, description="pods at once, 1 to 1024; takes effect while it runs")
    priority: int | None = Field(None, description="-100 to 100; higher goes first when slots are short")
    archived: bool | None = Field(None, description="true, once it has ended, takes it off the list and keeps it whole")


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class FieldError(Answer):
    """`field` is a dotted path such as algorithms.0.search_space.learning_rate, "" for the whole."""

    field: str
    message: str


class Errors(Answer):
    errors: list[FieldError]


class PodCounts(Answer):
    QUEUED: int
    RUNNING: int
    FINISHED: int
    FAILED: int
    STOPPED: int


class TournamentOut(Answer):
    """Times are ISO 8601; `seconds` leaves pauses out; `progress` and `seconds_left` are null where unknown.

    `reevaluations` counts newcomers that were evaluated again on fresh seeds before they could rank, and
    `reevaluations_changed` those whose rank, or whether they entered at all, was another than at first.
    """

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


class TournamentPage(Answer):
    items: list[TournamentOut]
    count: int


class EntryOut(Answer):
    """A leaderboard entry; `beats_next` is the probability that it is better than the next agent.

    `kind` is agent or ensemble; an ensemble stands where its score belongs, has neither rank nor colour, and its
    members, the best first, as parents.
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


class AgentName(Answer):
    id: str
    name: str


class EnsembleOut(Answer):
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


class LeaderboardPage(Answer):
    """`making` lists ensembles that are being made, or could not be."""

    items: list[EntryOut]
    count: int
    making: list[EnsembleOut]


class PodOut(Answer):
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


class PodPage(Answer):
    items: list[PodOut]
    count: int


class EventOut(Answer):
    """`data` says the same as `text`, for programs; what it has depends on `kind`, see docs/events.md."""

    id: str
    at: str
    kind: str
    text: str
    data: dict[str, Any]
    agent: str | None
    agent_name: str | None
    pod: str | None


class EventPage(Answer):
    items: list[EventOut]
    count: int


class Ancestor(AgentName):
    score: float | None
    strategy: str
    changes: dict[str, list[Value]]


class Confirmation(Answer):
    score: float | None
    score_low: float | None
    score_high: float | None
    episodes: int


class Checkpoint(Answer):
    size: int
    sha256: str
    filename: str


class LogLine(Answer):
    at: str
    level: str
    text: str


class Member(AgentName):
    color: int | None
    algorithm: str
    rank: int | None
    score: float | None
    score_low: float | None
    score_high: float | None


class AgentOut(Answer):
    """`ancestry` is the line that its weights come down, the eldest first, itself last.

    `origin` says why these parents; `screening` is its first evaluation where it was evaluated again.
    An ensemble has `members` and no pod; its `status` is that of its making.
    """

    id: str
    kind: str
    name: str
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
    checkpoint: Checkpoint | None
    log: list[LogLine]
    members: list[Member]
    beats_best_member: float | None


class EnvironmentPage(Answer):
    items: list[CatalogueEntry]
    count: int


def spec_components() -> dict[str, Any]:
    """The TournamentSpec's parts for the OpenAPI document, search spaces as people write them."""
    schema = TournamentSpec.model_json_schema(ref_template="#/components/schemas/{model}")
    parts: dict[str, Any] = schema.pop("$defs")
    parts["SearchSpace"] = _search_space()
    return {"TournamentSpec": schema, **parts}


def _search_space() -> dict[str, Any]:
    value = {"type": ["boolean", "integer", "number", "string"]}
    ends = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    kinds = {"fixed": value, "choice": {"type": "array", "items": value, "minItems": 1}}
    kinds |= dict.fromkeys(("uniform", "loguniform", "int"), ends)
    written = [
        {"type": "object", "properties": {kind: content}, "required": [kind], "additionalProperties": False}
        for kind, content in kinds.items()
    ]
    return {"title": "SearchSpace", "description": "A bare value means fixed.", "anyOf": [value, *written]}
