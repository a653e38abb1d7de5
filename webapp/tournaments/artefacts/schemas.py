"""What the API takes and answers of exports, replays and ensembles."""

from pydantic import BaseModel, ConfigDict, Field

from webapp.tournaments.schemas import Answer, EnsembleOut


class ExportRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: str = Field(description="torchscript or onnx")


class ReplayRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    episode: str = Field(description="best, median or worst")


class _Artefact(Answer):
    """status: QUEUED, RUNNING, FINISHED or FAILED; progress: share done; the numbers are null until it is FINISHED"""

    status: str
    progress: float
    reason: str
    size: int | None
    sha256: str | None
    filename: str
    requested_at: str
    finished_at: str | None


class ExportOut(_Artefact):
    """observations: random ones on which the export was compared; max_difference: of the actions on them"""

    format: str
    observations: int | None
    max_difference: float | None


class ReplayOut(_Artefact):
    """episodes: played to choose from; length: in steps; fps, width, height: of the video"""

    episode: str
    episodes: int | None
    seed: int | None
    episodic_return: float | None
    length: int | None
    fps: float | None
    width: int | None
    height: int | None


class ExportPage(Answer):
    items: list[ExportOut]
    count: int


class ReplayPage(Answer):
    items: list[ReplayOut]
    count: int


class EnsembleRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    size: int = Field(description="how many of the best agents, 2 to the leaderboard's size")


class EnsemblePage(Answer):
    items: list[EnsembleOut]
    count: int
