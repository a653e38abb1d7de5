"""What a tournament without a server knows: plain data, ready for strict JSON. No torch."""

import math
import time
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from podracer_core.hyperparameters import Value
from podracer_core.progress import Evaluation, PodResult
from podracer_core.tournament.leaderboard import Entry

Segment = dict[str, Any]


class PodStatus(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


class TournamentStatus(StrEnum):
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FINISHED = "FINISHED"
    FAILED = "FAILED"


ACTIVE = (PodStatus.QUEUED, PodStatus.RUNNING)


@dataclass(slots=True)
class AgentRecord:
    """An agent and its one pod.

    parents: indices; inherits: of whose weights it starts with; founder: index of the fresh agent it descends from;
        depth: how many parents back that is; origin: why these parents
    stage, team: see tournament.offspring; schedule: what a rerun trains one after another, as spec.Segment
    budget: env steps of its round, or None where seconds alone end it; base_env_steps: those of the line it inherits
    state_env_steps: how far its last saved state is; losses: how often its process was lost
    ended_at: Unix time; scored: its number among the scored agents, in the order of scoring
    """

    index: int
    name: str
    algorithm: str
    hyperparameters: dict[str, Value]
    num_envs: int
    seed: int
    strategy: str
    founder: int
    parents: list[int] = field(default_factory=list)
    inherits: list[int] = field(default_factory=list)
    origin: str = ""
    stage: int = 0
    team: int = 0
    schedule: list[Segment] = field(default_factory=list)
    depth: int = 0
    changes: dict[str, list[Value]] = field(default_factory=dict)
    base_env_steps: int = 0
    budget: int | None = None
    status: PodStatus = PodStatus.QUEUED
    reason: str = ""
    losses: int = 0
    env_steps: int = 0
    seconds: float = 0.0
    state_env_steps: int = 0
    score: float | None = None
    score_low: float | None = None
    score_high: float | None = None
    mean: float | None = None
    iqm: float | None = None
    returns: list[float] = field(default_factory=list)
    confirmation: dict[str, Any] | None = None
    screening: dict[str, Any] | None = None
    scored: int | None = None
    ended_at: float | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> "AgentRecord":
        """From what `asdict` made of one."""
        return cls(**data | {"status": PodStatus(data["status"])})

    @property
    def entry(self) -> Entry:
        """The agent as the decisions see it."""
        return Entry(self.index, math.nan if self.score is None else self.score, self.founder, tuple(self.returns))

    def take_score(self, result: PodResult) -> None:
        evaluation = result.evaluation
        assert evaluation is not None
        for name in ("score", "score_low", "score_high", "mean", "iqm"):
            value = getattr(evaluation, name)
            setattr(self, name, value if math.isfinite(value) else None)
        self.returns = [float(value) for value in evaluation.returns]
        self.confirmation, self.screening = _summary(result.confirmation), _summary(result.screening)


def _summary(evaluation: Evaluation | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    return {name: getattr(evaluation, name) for name in ("score", "score_low", "score_high", "episodes")}


@dataclass(slots=True)
class BoardRow:
    """An agent's place: places gained at the last change (None = new), probability that it beats the next."""

    agent: int
    rank_change: int | None = None
    beats_next: float | None = None


@dataclass(slots=True)
class TournamentRecord:
    """seconds: time running, pauses left out; best_history: every new best score, in order; reevaluations: of agents
    that would have entered, and how many of those changed that or their rank
    """

    status: TournamentStatus = TournamentStatus.RUNNING
    reason: str = ""
    seconds: float = 0.0
    started_at: float = 0.0
    best_history: list[float] = field(default_factory=list)
    leaderboard: list[BoardRow] = field(default_factory=list)
    reevaluations: int = 0
    reevaluations_changed: int = 0

    @classmethod
    def of(cls, data: dict[str, Any]) -> "TournamentRecord":
        """From what `asdict` made of one."""
        rows = [BoardRow(**row) for row in data["leaderboard"]]
        return cls(**data | {"status": TournamentStatus(data["status"]), "leaderboard": rows})


@dataclass(slots=True)
class EnsembleRecord:
    """Several agents as one policy. members: indices, the best first; made_at: Unix time"""

    index: int
    name: str
    members: list[int]
    seed: int
    score: float
    score_low: float
    score_high: float
    mean: float
    iqm: float
    returns: list[float]
    made_at: float

    @classmethod
    def of_evaluation(cls, name: str, members: list[int], seed: int, evaluation: Evaluation) -> "EnsembleRecord":
        """The first and only one, made now."""
        numbers = {key: getattr(evaluation, key) for key in ("score", "score_low", "score_high", "mean", "iqm")}
        return cls(0, name, members, seed, **numbers, returns=list(evaluation.returns), made_at=time.time())


@dataclass(slots=True)
class EventRecord:
    """Something that happened, in a sentence. at: Unix time; agent: index."""

    at: float
    kind: str
    text: str
    agent: int | None = None


Record = AgentRecord | TournamentRecord | EnsembleRecord | EventRecord

as_data = asdict
