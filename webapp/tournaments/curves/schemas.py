"""What the API answers of learning curves: columns, whose lists have one length."""

from pydantic import BaseModel, ConfigDict

from webapp.tournaments.schemas import Answer


class CurveOut(BaseModel):
    """Columns of one length; beside these one for each loss that the learner reports."""

    model_config = ConfigDict(extra="allow", strict=True)

    env_steps: list[int]
    seconds: list[float]
    episodic_return: list[float | None]


class TournamentCurve(Answer):
    """Columns of one length, and where they lie: x is base_env_steps + env_steps, start_seconds + seconds, or
    depth + env_steps / round_env_steps.
    """

    name: str
    depth: int
    base_env_steps: int
    start_seconds: float | None
    round_env_steps: int | None
    env_steps: list[int]
    seconds: list[float]
    episodic_return: list[float | None]


class TournamentCurves(Answer):
    """curves: by agent id"""

    axis: str
    curves: dict[str, TournamentCurve]


class CurveStatistics(Answer):
    """Columns of one length. Where there is a single pod its mean has no interval.

    pods: how many are under way at x, with returns from lowest to highest there; best: the highest return that any pod
    has had up to x
    """

    x: list[float]
    pods: list[int]
    mean: list[float | None]
    mean_low: list[float | None]
    mean_high: list[float | None]
    lowest: list[float | None]
    highest: list[float | None]
    iqm: list[float | None]
    lower_quartile: list[float | None]
    upper_quartile: list[float | None]
    best: list[float]
