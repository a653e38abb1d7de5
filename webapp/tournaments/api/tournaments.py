"""Tournaments: created, controlled, read."""

from collections.abc import Callable
from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from pydantic import Field

from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse_json, spec_parse_toml
from webapp.accounts.access import request_actor, request_user
from webapp.tournaments import access, exporting, schemas, selectors, services
from webapp.tournaments.api import common
from webapp.tournaments.curves.tensorboard import tournament_tensorboard
from webapp.tournaments.downloads import download_pieces, download_text
from webapp.tournaments.listing import MAX_SEARCH, Sort, StatusName, Wanted
from webapp.tournaments.schemas import Limit, Offset

router = Router()

_EXPORTS = {
    "responses": {
        200: {
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "application/zip": {"schema": {"type": "string", "format": "binary"}},
            }
        }
    }
}
_SPEC_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"$ref": "#/components/schemas/TournamentSpec"}}
            for kind in ("application/json", "application/toml")
        },
    }
}


@router.get("/tournaments", response=common.answers(schemas.TournamentPage), summary="Tournaments, the newest first")
def tournaments(
    request: HttpRequest,
    archived: bool | None = None,
    search: Annotated[str, Field(max_length=MAX_SEARCH)] = "",
    status: StatusName | None = None,
    env_id: Annotated[str, Field(max_length=MAX_SEARCH)] = "",
    sort: Sort = "newest",
    limit: Limit = 50,
    offset: Offset = 0,
) -> HttpResponse:
    """All, or those whose name contains `search`, that have this `status` and this environment.

    `archived=true` gives those that are archived, `archived=false` the others; `sort` puts the newest, the best score
    or the most env steps first.
    """
    wanted = Wanted(search, status or "", env_id, sort)
    visible = access.visible(request_actor(request))
    page = selectors.tournament_list(visible=visible, archived=archived, wanted=wanted, limit=limit, offset=offset)
    return common.answer(page)


@router.post(
    "/tournaments",
    response=common.answers(schemas.TournamentOut, 413, 415, status=201),
    summary="Create a tournament",
    openapi_extra=_SPEC_BODY,
)
def tournament_create(request: HttpRequest, start: bool = False) -> HttpResponse:
    """The body is a TournamentSpec in JSON, or in TOML with Content-Type application/toml."""
    spec = _spec_read(request)
    if spec is None:
        return common.refusal(
            415, f"Send application/json or application/toml, not {request.content_type or 'nothing'}."
        )
    tournament = services.tournament_create(owner=request_user(request), spec=spec, start=start)
    location = f"/api/tournaments/{tournament.pk}"
    return common.answer(selectors.tournament_get(tournament.pk), 201, Location=location)


def _spec_read(request: HttpRequest) -> TournamentSpec | None:
    """The body's specification; None for a content type that cannot hold one."""
    if request.content_type in ("application/toml", "text/toml", "text/x-toml"):
        return spec_parse_toml(request.body)
    if request.content_type in ("application/json", ""):
        return spec_parse_json(request.body)
    return None


@router.get(
    "/tournaments/{tournament_id}", response=common.answers(schemas.TournamentOut, 404), summary="One tournament"
)
def tournament(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return common.answer(selectors.tournament_get(common.tournament_id(tournament_id)))


@router.get(
    "/tournaments/{tournament_id}/export",
    response={404: schemas.Errors, 422: schemas.Errors},
    summary="The whole tournament as one file",
    openapi_extra=_EXPORTS,
)
def tournament_export(
    request: HttpRequest, tournament_id: str, format: Literal["json", "tensorboard"] = "json"
) -> HttpResponseBase:
    """Specification, agents with their lineage, scores and complete curves, leaderboard and events.

    ?format=tensorboard: a zip of event files, a run for each agent.
    """
    number = common.tournament_id(tournament_id)
    if format == "tensorboard":
        filename = f"tournament-{number}-tensorboard.zip"
        archive = tournament_tensorboard(number)
        return download_pieces(request, archive, filename=filename, content_type="application/zip")
    pieces = exporting.tournament_json(number)
    return download_text(request, pieces, filename=f"tournament-{number}.json", content_type="application/json")


@router.patch(
    "/tournaments/{tournament_id}",
    response=common.answers(schemas.TournamentOut, 404, 409),
    summary="Rename, resize the pool, change the priority, archive",
)
def tournament_update(request: HttpRequest, tournament_id: str, patch: schemas.TournamentPatch) -> HttpResponse:
    number = common.tournament_id(tournament_id)
    services.tournament_update(tournament_id=number, **patch.model_dump())
    return common.answer(selectors.tournament_get(number))


@router.delete(
    "/tournaments/{tournament_id}",
    response={204: None, 404: schemas.Errors},
    summary="Delete a tournament with its files",
)
def tournament_delete(request: HttpRequest, tournament_id: str) -> HttpResponse:
    services.tournament_delete(tournament_id=common.tournament_id(tournament_id))
    return HttpResponse(status=204)


def _control(tournament_id: str, service: Callable[..., None]) -> HttpResponse:
    number = common.tournament_id(tournament_id)
    service(tournament_id=number)
    return common.answer(selectors.tournament_get(number))


_CONTROLLED = common.answers(schemas.TournamentOut, 404, 409)


@router.post("/tournaments/{tournament_id}/start", response=_CONTROLLED, summary="Start a draft")
def tournament_start(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_start)


@router.post("/tournaments/{tournament_id}/pause", response=_CONTROLLED, summary="Pause; running pods save and wait")
def tournament_pause(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_pause)


@router.post("/tournaments/{tournament_id}/resume", response=_CONTROLLED, summary="Go on from where the pause left off")
def tournament_resume(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_resume)


@router.post("/tournaments/{tournament_id}/stop", response=_CONTROLLED, summary="Stop for good, keeping what there is")
def tournament_stop(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_stop)


@router.get(
    "/tournaments/{tournament_id}/leaderboard",
    response=common.answers(schemas.LeaderboardPage, 404),
    summary="The best agents, best first",
)
def leaderboard(request: HttpRequest, tournament_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return common.answer(selectors.leaderboard_list(common.tournament_id(tournament_id), limit=limit, offset=offset))


@router.get(
    "/tournaments/{tournament_id}/pods", response=common.answers(schemas.PodPage, 404), summary="Pods, the newest first"
)
def pods(request: HttpRequest, tournament_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return common.answer(selectors.pod_list(common.tournament_id(tournament_id), limit=limit, offset=offset))


@router.get(
    "/tournaments/{tournament_id}/events",
    response=common.answers(schemas.EventPage, 404),
    summary="What happened, the newest first",
)
def events(request: HttpRequest, tournament_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return common.answer(selectors.event_list(common.tournament_id(tournament_id), limit=limit, offset=offset))
