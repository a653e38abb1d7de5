"""What workers make of an agent when somebody asks: exports and replays."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router

from webapp.tournaments import schemas
from webapp.tournaments.api import common
from webapp.tournaments.artefacts import artefacts
from webapp.tournaments.artefacts import schemas as artefact_schemas
from webapp.tournaments.artefacts import selectors as artefact_selectors
from webapp.tournaments.downloads import download
from webapp.tournaments.models import Artefact
from webapp.tournaments.schemas import Limit, Offset

router = Router()

_EXPORT, _REPLAY = Artefact.Kind.EXPORT, Artefact.Kind.REPLAY


@router.get(
    "/agents/{agent_id}/exports", response=common.answers(artefact_schemas.ExportPage, 404), summary="Exports asked for"
)
def exports(request: HttpRequest, agent_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return common.answer(
        artefact_selectors.artefact_list(common.agent_id(agent_id), _EXPORT, limit=limit, offset=offset)
    )


@router.post(
    "/agents/{agent_id}/exports",
    response=common.answers(artefact_schemas.ExportOut, 404, 409, status=202),
    summary="Have the agent exported as TorchScript or ONNX",
)
def export_request(request: HttpRequest, agent_id: str, wanted_export: artefact_schemas.ExportRequest) -> HttpResponse:
    """A worker makes it and proves it equal to the agent. Asking again for one that failed tries again."""
    return _requested(common.agent_id(agent_id), _EXPORT, wanted_export.format, f"exports/{wanted_export.format}")


@router.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/exports/{format}",
    response={404: schemas.Errors},
    summary="Download an export",
    openapi_extra=common.FILE,
)
def export(request: HttpRequest, agent_id: str, format: str) -> HttpResponseBase:
    """With its length, a strong ETag (SHA-256), Range and If-None-Match."""
    return _artefact(request, common.agent_id(agent_id), _EXPORT, format)


@router.get(
    "/agents/{agent_id}/replays", response=common.answers(artefact_schemas.ReplayPage, 404), summary="Replays asked for"
)
def replays(request: HttpRequest, agent_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return common.answer(
        artefact_selectors.artefact_list(common.agent_id(agent_id), _REPLAY, limit=limit, offset=offset)
    )


@router.post(
    "/agents/{agent_id}/replays",
    response=common.answers(artefact_schemas.ReplayOut, 404, 409, status=202),
    summary="Have an episode filmed",
)
def replay_request(request: HttpRequest, agent_id: str, wanted_replay: artefact_schemas.ReplayRequest) -> HttpResponse:
    """A worker plays episodes in the real Gymnasium environment and films the best, the median or the worst."""
    return _requested(common.agent_id(agent_id), _REPLAY, wanted_replay.episode, f"replays/{wanted_replay.episode}")


@router.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/replays/{episode}",
    response={404: schemas.Errors},
    summary="The video of an episode",
    openapi_extra=common.VIDEO,
)
def replay(request: HttpRequest, agent_id: str, episode: str) -> HttpResponseBase:
    """H.264, with its length, a strong ETag (SHA-256), Range and If-None-Match."""
    return _artefact(request, common.agent_id(agent_id), _REPLAY, episode, content_type="video/mp4")


@router.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/replays/{episode}/poster",
    response={404: schemas.Errors},
    summary="The picture in the middle of an episode",
    openapi_extra=common.PICTURE,
)
def poster(request: HttpRequest, agent_id: str, episode: str) -> HttpResponseBase:
    return _artefact(request, common.agent_id(agent_id), _REPLAY, episode, content_type="image/jpeg", poster=True)


def _requested(agent_id: int, kind: str, name: str, path: str) -> HttpResponse:
    artefacts.artefact_request(agent_id=agent_id, kind=kind, name=name)
    found = artefact_selectors.artefact_get(agent_id, kind, name)
    return common.answer(found, 202, Location=f"/api/agents/{agent_id}/{path}")


def _artefact(
    request: HttpRequest,
    agent_id: int,
    kind: str,
    name: str,
    *,
    content_type: str = "application/octet-stream",
    poster: bool = False,
) -> HttpResponseBase:
    """The file. Exports are saved, videos and pictures shown."""
    found = artefact_selectors.artefact_file(agent_id, kind, name, poster=poster)
    if found is None:
        return common.refusal(
            404, f"There is no {kind} {name!r} of agent {agent_id}: POST to /api/agents/{agent_id}/{kind}s"
        )
    try:
        attachment = kind == _EXPORT
        return download(request, found.pop("storage_name"), **found, content_type=content_type, attachment=attachment)
    except FileNotFoundError:
        return common.refusal(
            404, f"The {kind} {name!r} of agent {agent_id} is no longer in storage; ask for it again."
        )
