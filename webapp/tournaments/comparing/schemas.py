"""What GET /api/compare answers, for its documentation; tests hold it to these."""

from pydantic import BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class MemberOut(_Answer):
    id: str
    name: str
    seed: int


class GroupOut(_Answer):
    """Tournaments (several where they repeat one another), or one agent or ensemble of one, which `kind` tells.

    tournament: the first of `tournaments`; agents and episodes: that its scores are made of
    """

    key: str
    label: str
    color: int
    env_id: str
    tournament: str
    tournaments: list[MemberOut]
    agent: str | None
    kind: str
    status: str
    agents: int
    episodes: int


class MeanCurve(_Answer):
    """Columns: the mean return of the agents under way at x with the ends of its 95 % interval, how many these are, of
    how many tournaments, and the best return of any so far. Of several tournaments it is the mean of their means.
    """

    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]
    best: list[float]
    agents: list[int]
    tournaments: list[int]


class TimeToTarget(_Answer):
    """When the first agent was scored at the target or above. env_steps and agents: scored by then, or by now; of an
    agent alone, the env steps of its line.

    Of several tournaments: medians, where more than half of them reached it, and the earliest and the latest that did.
    """

    group: str
    reached: bool
    seconds: float | None
    env_steps: int
    agents: int
    best_score: float | None
    agent: str | None
    agent_name: str | None
    tournaments: int
    tournaments_reached: int
    earliest: float | None
    latest: float | None


class ScoreOut(_Answer):
    """value: the interquartile mean of the group's episodes, low and high: the ends of its 95 % interval"""

    group: str
    value: float
    low: float
    high: float
    mean: float
    lowest: float
    highest: float


class Profile(_Answer):
    share: list[float]
    low: list[float]
    high: list[float]


class Profiles(_Answer):
    """The share of a group's episodes whose return is above each threshold."""

    thresholds: list[float]
    groups: dict[str, Profile]


class Improvement(_Answer):
    """value: how probable it is that an episode of `better` has a higher return than one of `than`; ties count half"""

    better: str
    than: str
    value: float
    low: float
    high: float


class EnvironmentComparison(_Answer):
    env_id: str
    groups: list[str]
    target: float | None
    curves: dict[str, MeanCurve]
    times: list[TimeToTarget]
    scores: list[ScoreOut]
    profiles: Profiles
    improvement: list[Improvement]


class DifferenceRow(_Answer):
    """values: one for each of `groups`, in their order; null where the specification has no such field"""

    name: str
    values: list[str | None]


class Differences(_Answer):
    groups: list[str]
    rows: list[DifferenceRow]


class HyperparameterRow(_Answer):
    """values: one for each of `groups`, in their order; null where the agent's algorithm has no such hyperparameter"""

    name: str
    values: list[str | None]
    differs: bool


class Hyperparameters(_Answer):
    """Of agents that were chosen by themselves."""

    groups: list[str]
    rows: list[HyperparameterRow]


class ComparisonOut(_Answer):
    """Groups of one environment are compared with each other; between environments scores mean nothing."""

    groups: list[GroupOut]
    environments: list[EnvironmentComparison]
    differences: Differences
    hyperparameters: Hyperparameters
