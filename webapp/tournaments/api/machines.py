"""What tournaments run on: environments and workers."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from podracer_core.envs.catalogue import catalogue_list
from webapp.tournaments import schemas, selectors
from webapp.tournaments.api import common
from webapp.tournaments.schemas import Limit, Offset

router = Router()


@router.get(
    "/environments", response=common.answers(schemas.EnvironmentPage), summary="The environments that are known"
)
def environments(request: HttpRequest, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    """Beside these every id that Gymnasium registers is taken, if its spaces are supported."""
    entries = catalogue_list()
    items = [entry.model_dump(mode="json") for entry in entries[offset : offset + limit]]
    return common.answer({"items": items, "count": len(entries)})


@router.get("/workers", response=common.answers(schemas.SlotsOut), summary="Slots and workers that are online")
def workers(request: HttpRequest) -> HttpResponse:
    return common.answer(selectors.slots_online())
