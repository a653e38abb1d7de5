"""What tournaments run on: environments and workers."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from podracer_core.envs.catalogue import catalogue_list
from webapp.accounts.access import request_actor
from webapp.tournaments import access, schemas
from webapp.tournaments.api import common
from webapp.tournaments.schemas import Limit, Offset
from webapp.tournaments.workers import schemas as worker_schemas
from webapp.tournaments.workers import selectors as worker_selectors
from webapp.tournaments.workers import services as worker_services

router = Router()

operations = Router()
"""What is done to workers, which all tournaments share: webapp.guard lets admins alone."""


@router.get(
    "/environments", response=common.answers(schemas.EnvironmentPage), summary="The environments that are known"
)
def environments(request: HttpRequest, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    """Beside these every id that Gymnasium registers is taken, if its spaces are supported."""
    entries = catalogue_list()
    items = [entry.model_dump(mode="json") for entry in entries[offset : offset + limit]]
    return common.answer({"items": items, "count": len(entries)})


@router.get("/workers", response=common.answers(worker_schemas.SlotsOut), summary="Slots and workers that are online")
def workers(request: HttpRequest, offline: bool = False) -> HttpResponse:
    """Drained workers are listed, but their slots are not counted; `offline=true` lists also those not heard of."""
    items = worker_selectors.worker_list(visible=access.visible(request_actor(request)), offline=offline)
    return common.answer({**worker_selectors.slots_taking(items), "workers": items})


_DONE = common.answers(worker_schemas.WorkerOut, 404)


def _worker(request: HttpRequest, name: str) -> HttpResponse:
    return common.answer(worker_selectors.worker_get(name, visible=access.visible(request_actor(request))))


# A name may hold any sign, slashes included.
@operations.post("/workers/{path:worker}/drain", response=_DONE, summary="Give a worker nothing more")
def worker_drain(
    request: HttpRequest, worker: str, wanted_drain: worker_schemas.DrainRequest | None = None
) -> HttpResponse:
    """`worker` is its name or id. What it runs ends there; with `now` it saves its state and goes on elsewhere."""
    name = worker_selectors.worker_name(worker)
    worker_services.worker_drain(name=name, now=wanted_drain.now if wanted_drain else False)
    return _worker(request, name)


@operations.post("/workers/{path:worker}/resume", response=_DONE, summary="Let a drained worker take work again")
def worker_resume(request: HttpRequest, worker: str) -> HttpResponse:
    name = worker_selectors.worker_name(worker)
    worker_services.worker_resume(name=name)
    return _worker(request, name)


@operations.delete(
    "/workers/{path:worker}", response={204: None, 404: schemas.Errors, 409: schemas.Errors}, summary="Forget a worker"
)
def worker_forget(request: HttpRequest, worker: str) -> HttpResponse:
    """Only one that is offline; it is listed again when it comes back."""
    worker_services.worker_forget(name=worker_selectors.worker_name(worker))
    return HttpResponse(status=204)
