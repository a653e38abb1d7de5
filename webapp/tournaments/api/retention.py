"""Space freed by hand: what would go, and that it goes."""

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from webapp.tournaments.api import common
from webapp.tournaments.keeping import freeing

router = Router()


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RetentionRequest(_Body):
    parts: list[str] = Field(description="what goes: checkpoints, states, exports, replays")


class RetentionPart(_Body):
    """Sizes in bytes; `problem` says why nothing of it can go now."""

    part: str
    files: int
    size: int
    kept_files: int
    kept_size: int
    why: str
    problem: str


class RetentionOut(_Body):
    parts: list[RetentionPart]


class FreedOut(_Body):
    files: int
    size: int


@router.get(
    "/tournaments/{tournament_id}/retention",
    response=common.answers(RetentionOut, 404),
    summary="Which files can go to free space",
)
def retention(request: HttpRequest, tournament_id: str) -> HttpResponse:
    """Scores, curves and events always stay, and so does every file that something needs."""
    return common.answer(freeing.preview(common.tournament_id(tournament_id)))


@router.post(
    "/tournaments/{tournament_id}/retention",
    response=common.answers(FreedOut, 404, 409),
    summary="Remove files that nothing needs",
)
def retention_do(request: HttpRequest, tournament_id: str, wanted_retention: RetentionRequest) -> HttpResponse:
    """What is needed is decided anew at this moment. It cannot be undone."""
    number = common.tournament_id(tournament_id)
    freed = freeing.space_free(tournament_id=number, parts=wanted_retention.parts)
    return common.answer({"files": freed.files, "size": freed.size})
