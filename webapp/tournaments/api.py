"""The REST API: guard, validate, one call, answer. Who may ask is decided by webapp.accounts.middleware."""

import csv
import io
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from django.contrib.auth.models import User
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema
from ninja.params.functions import Query
from ninja.parser import Parser
from ninja.security.http import HttpAuthBase
from pydantic import BaseModel

from podracer_core.envs.catalogue import catalogue_list
from podracer_core.errors import SpecError
from podracer_core.sentences import sentence
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse_json, spec_parse_toml
from webapp.tournaments import (
    artefact_selectors,
    artefacts,
    curves,
    exporting,
    schemas,
    selectors,
    services,
    strict_json,
)
from webapp.tournaments.downloads import download, download_text
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.models import Agent, Artefact, Tournament
from webapp.tournaments.schemas import Limit, Offset

MAX_DIGITS = 18
"""Every id of so many digits fits into a bigint."""


class SignedIn(HttpAuthBase):
    """Documents the bearer token, and has the documentation page send the CSRF token; the middleware did the rest."""

    openapi_scheme = "bearer"
    csrf = True

    def __call__(self, request: HttpRequest) -> Any:
        return request.user


class StrictParser(Parser):
    """Refuses NaN in request bodies."""

    def parse_body(self, request: HttpRequest) -> Any:
        return strict_json.loads(request.body)


class PodracerAPI(NinjaAPI):
    """The API with the specification's models in its documentation."""

    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**kwargs)
        schema["components"]["schemas"].update(schemas.spec_components())
        return schema


api = PodracerAPI(
    title="Podracer",
    version="1",
    description="Train deep-RL agents by tournament.",
    parser=StrictParser(),
    auth=[SignedIn()],
)

_SPEC_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"$ref": "#/components/schemas/TournamentSpec"}}
            for kind in ("application/json", "application/toml")
        },
    }
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_VIDEO = {"responses": {status: {"content": {"video/mp4": _BINARY}} for status in (200, 206)}}
_PICTURE = {"responses": {status: {"content": {"image/jpeg": _BINARY}} for status in (200, 206)}}
_FILE = {"responses": {status: {"content": {"application/octet-stream": _BINARY}} for status in (200, 206)}}

Model = TypeVar("Model")


def _answers(model: type[Model], *refusals: int, status: int = 200) -> dict[int, Any]:
    """What an operation may answer, for the documentation."""
    return {status: model, **dict.fromkeys((*refusals, 422), schemas.Errors)}


def _answer(data: Any, status: int = 200, **headers: str) -> HttpResponse:
    """`data` as it is. Ninja would first check and copy it with the model, which takes longer than reading it."""
    body = strict_json.dumps(data)
    return HttpResponse(body, status=status, content_type="application/json", headers=headers)


def _refusal(status: int, message: str, field: str = "") -> HttpResponse:
    return _answer({"errors": [{"field": field, "message": message}]}, status)


def _id(text: str, missing: type[Agent.DoesNotExist | Tournament.DoesNotExist], kind: str) -> int:
    """The id that an address names. Raises `missing` for what cannot be one."""
    if len(text) <= MAX_DIGITS and text.isascii() and text.isdecimal():
        return int(text)
    raise missing(f"There is no {kind} {text!r}.")


def _tournament_id(text: str) -> int:
    """The id of a tournament that is there. Raises Tournament.DoesNotExist."""
    number = _id(text, Tournament.DoesNotExist, "tournament")
    if selectors.revision_get(number) is None:
        raise Tournament.DoesNotExist(f"There is no tournament {text}.")
    return number


# Refusals


@api.exception_handler(SpecError)
def _spec_refused(request: HttpRequest, error: SpecError) -> HttpResponse:
    return _answer({"errors": [{"field": field, "message": message} for field, message in error.errors]}, 422)


@api.exception_handler(ValidationError)
def _request_refused(request: HttpRequest, error: ValidationError) -> HttpResponse:
    found = [{"field": _field(detail["loc"]), "message": _sentence(detail)} for detail in error.errors]
    return _answer({"errors": found}, 422)


def _field(loc: tuple[Any, ...]) -> str:
    """Ninja's (source, argument, field ...) without what only names our own code."""
    return ".".join(str(part) for part in (loc[2:] if loc[0] == "body" else loc[1:]))


_BODIES: dict[str, type[BaseModel]] = {
    "patch": schemas.TournamentPatch,
    "wanted_export": schemas.ExportRequest,
    "wanted_replay": schemas.ReplayRequest,
}
"""By the names of the arguments that take them."""


def _sentence(detail: dict[str, Any]) -> str:
    if detail["type"] == "extra_forbidden":
        return f"there is no such field; there are {', '.join(_BODIES[detail['loc'][1]].model_fields)}"
    return sentence(detail)


@api.exception_handler(TournamentError)
def _state_refused(request: HttpRequest, error: TournamentError) -> HttpResponse:
    return _refusal(409, str(error))


@api.exception_handler(Tournament.DoesNotExist)
@api.exception_handler(Agent.DoesNotExist)
def _missing(request: HttpRequest, error: Exception) -> HttpResponse:
    text = str(error)
    if "matching query" in text:  # Django's own sentence speaks of queries
        kind = "agent" if isinstance(error, Agent.DoesNotExist) else "tournament"
        text = f"There is no {kind} {request.path.split('/')[3]}."
    return _refusal(404, text)


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return _refusal(413, "The request is larger than the 2.5 MB that are read.")


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if error.__cause__ is not None:  # from Ninja, around what the parser raised
        return _refusal(422, f"The body is not valid JSON: {error.__cause__}.")
    return _refusal(error.status_code, str(error))


# Environments and workers


@api.get("/environments", response=_answers(schemas.EnvironmentPage), summary="The environments that are known")
def environments(request: HttpRequest, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    """Beside these every id that Gymnasium registers is taken, if its spaces are supported."""
    entries = catalogue_list()
    items = [entry.model_dump(mode="json") for entry in entries[offset : offset + limit]]
    return _answer({"items": items, "count": len(entries)})


@api.get("/workers", response=_answers(schemas.SlotsOut), summary="Slots and workers that are online")
def workers(request: HttpRequest) -> HttpResponse:
    return _answer(selectors.slots_online())


# Tournaments


@api.get("/tournaments", response=_answers(schemas.TournamentPage), summary="Tournaments, the newest first")
def tournaments(request: HttpRequest, limit: Limit = 50, offset: Offset = 0) -> HttpResponse:
    return _answer(selectors.tournament_list(limit=limit, offset=offset))


@api.post(
    "/tournaments",
    response=_answers(schemas.TournamentOut, 413, 415, status=201),
    summary="Create a tournament",
    openapi_extra=_SPEC_BODY,
)
def tournament_create(request: HttpRequest, start: bool = False) -> HttpResponse:
    """The body is a TournamentSpec in JSON, or in TOML with Content-Type application/toml."""
    spec = _spec_read(request)
    if spec is None:
        return _refusal(415, f"Send application/json or application/toml, not {request.content_type or 'nothing'}.")
    tournament = services.tournament_create(owner=cast(User, request.user), spec=spec, start=start)
    location = f"/api/tournaments/{tournament.pk}"
    return _answer(selectors.tournament_get(tournament.pk), 201, Location=location)


def _spec_read(request: HttpRequest) -> TournamentSpec | None:
    """The body's specification; None for a content type that cannot hold one."""
    if request.content_type in ("application/toml", "text/toml", "text/x-toml"):
        return spec_parse_toml(request.body)
    if request.content_type in ("application/json", ""):
        return spec_parse_json(request.body)
    return None


@api.get("/tournaments/{tournament_id}", response=_answers(schemas.TournamentOut, 404), summary="One tournament")
def tournament(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _answer(selectors.tournament_get(_tournament_id(tournament_id)))


@api.get(
    "/tournaments/{tournament_id}/export",
    summary="The whole tournament as one file",
    openapi_extra={"responses": {200: {"content": {"application/json": {"schema": {"type": "object"}}}}}},
)
def tournament_export(request: HttpRequest, tournament_id: str) -> HttpResponseBase:
    """Specification, agents with their lineage, scores and complete curves, leaderboard and events."""
    number = _tournament_id(tournament_id)
    pieces = exporting.tournament_json(number)
    return download_text(request, pieces, filename=f"tournament-{number}.json", content_type="application/json")


@api.patch(
    "/tournaments/{tournament_id}",
    response=_answers(schemas.TournamentOut, 404, 409),
    summary="Rename, resize the pool, change the priority",
)
def tournament_update(request: HttpRequest, tournament_id: str, patch: schemas.TournamentPatch) -> HttpResponse:
    number = _tournament_id(tournament_id)
    services.tournament_update(tournament_id=number, **patch.model_dump())
    return _answer(selectors.tournament_get(number))


@api.delete(
    "/tournaments/{tournament_id}",
    response={204: None, 404: schemas.Errors},
    summary="Delete a tournament with its files",
)
def tournament_delete(request: HttpRequest, tournament_id: str) -> HttpResponse:
    services.tournament_delete(tournament_id=_tournament_id(tournament_id))
    return HttpResponse(status=204)


def _control(tournament_id: str, service: Callable[..., None]) -> HttpResponse:
    number = _tournament_id(tournament_id)
    service(tournament_id=number)
    return _answer(selectors.tournament_get(number))


_CONTROLLED = _answers(schemas.TournamentOut, 404, 409)


@api.post("/tournaments/{tournament_id}/start", response=_CONTROLLED, summary="Start a draft")
def tournament_start(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_start)


@api.post("/tournaments/{tournament_id}/pause", response=_CONTROLLED, summary="Pause; running pods save and wait")
def tournament_pause(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_pause)


@api.post("/tournaments/{tournament_id}/resume", response=_CONTROLLED, summary="Go on from where the pause left off")
def tournament_resume(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_resume)


@api.post("/tournaments/{tournament_id}/stop", response=_CONTROLLED, summary="Stop for good, keeping what there is")
def tournament_stop(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _control(tournament_id, services.tournament_stop)


@api.get(
    "/tournaments/{tournament_id}/leaderboard",
    response=_answers(schemas.LeaderboardPage, 404),
    summary="The best agents, best first",
)
def leaderboard(request: HttpRequest, tournament_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return _answer(selectors.leaderboard_list(_tournament_id(tournament_id), limit=limit, offset=offset))


@api.get("/tournaments/{tournament_id}/pods", response=_answers(schemas.PodPage, 404), summary="Pods, the newest first")
def pods(request: HttpRequest, tournament_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return _answer(selectors.pod_list(_tournament_id(tournament_id), limit=limit, offset=offset))


@api.get(
    "/tournaments/{tournament_id}/events",
    response=_answers(schemas.EventPage, 404),
    summary="What happened, the newest first",
)
def events(request: HttpRequest, tournament_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return _answer(selectors.event_list(_tournament_id(tournament_id), limit=limit, offset=offset))


# Agents


@api.get("/agents/{agent_id}", response=_answers(schemas.AgentOut, 404), summary="One agent")
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    return _answer(selectors.agent_get(_agent_id(agent_id)))


def _agent_id(text: str) -> int:
    return _id(text, Agent.DoesNotExist, "agent")


@api.get("/agents/{agent_id}/curve", response=_answers(schemas.CurveOut, 404), summary="An agent's learning curve")
def curve(
    request: HttpRequest,
    agent_id: str,
    points: int | Literal["all"] = Query(500, description="at most about so many, or all"),
    origin: Literal["self", "ancestor"] = Query("self", alias="from", description="ancestor: with its line"),
    format: Literal["json", "csv"] = "json",
) -> HttpResponse:
    """Columns of one length, downsampled keeping minima and maxima. CSV with ?format=csv or Accept: text/csv."""
    if points != "all" and not 2 <= points <= 100_000:
        raise SpecError([("points", f'give "all" or a whole number from 2 to 100000, got {points}')])
    found = selectors.agent_curve(
        _agent_id(agent_id), points=None if points == "all" else points, from_ancestor=origin == "ancestor"
    )
    wants_csv = format == "csv" or request.headers.get("Accept", "").split(",")[0].strip() == "text/csv"
    return _csv(found) if wants_csv else _answer(found)


def _csv(columns: curves.Curve) -> HttpResponse:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")


@api.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/checkpoint",
    response={404: schemas.Errors},
    summary="Download the checkpoint",
    openapi_extra=_FILE,
)
def checkpoint(request: HttpRequest, agent_id: str) -> HttpResponseBase:
    """A .safetensors file with its length, a strong ETag (SHA-256), Range and If-None-Match."""
    found = selectors.checkpoint_get(_agent_id(agent_id))
    if found is None:
        return _refusal(404, f"Agent {agent_id} has no checkpoint: its pod has not ended, or it ended without one.")
    try:
        return download(request, found.pop("storage_name"), **found)
    except FileNotFoundError:
        return _refusal(404, f"The checkpoint of agent {agent_id} is no longer in storage.")


# Exports and replays


_EXPORT, _REPLAY = Artefact.Kind.EXPORT, Artefact.Kind.REPLAY


@api.get("/agents/{agent_id}/exports", response=_answers(schemas.ExportPage, 404), summary="Exports asked for")
def exports(request: HttpRequest, agent_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return _answer(artefact_selectors.artefact_list(_agent_id(agent_id), _EXPORT, limit=limit, offset=offset))


@api.post(
    "/agents/{agent_id}/exports",
    response=_answers(schemas.ExportOut, 404, 409, status=202),
    summary="Have the agent exported as TorchScript or ONNX",
)
def export_request(request: HttpRequest, agent_id: str, wanted_export: schemas.ExportRequest) -> HttpResponse:
    """A worker makes it and proves it equal to the agent. Asking again for one that failed tries again."""
    return _requested(_agent_id(agent_id), _EXPORT, wanted_export.format, f"exports/{wanted_export.format}")


@api.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/exports/{format}",
    response={404: schemas.Errors},
    summary="Download an export",
    openapi_extra=_FILE,
)
def export(request: HttpRequest, agent_id: str, format: str) -> HttpResponseBase:
    """With its length, a strong ETag (SHA-256), Range and If-None-Match."""
    return _artefact(request, _agent_id(agent_id), _EXPORT, format)


@api.get("/agents/{agent_id}/replays", response=_answers(schemas.ReplayPage, 404), summary="Replays asked for")
def replays(request: HttpRequest, agent_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return _answer(artefact_selectors.artefact_list(_agent_id(agent_id), _REPLAY, limit=limit, offset=offset))


@api.post(
    "/agents/{agent_id}/replays",
    response=_answers(schemas.ReplayOut, 404, 409, status=202),
    summary="Have an episode filmed",
)
def replay_request(request: HttpRequest, agent_id: str, wanted_replay: schemas.ReplayRequest) -> HttpResponse:
    """A worker plays episodes in the real Gymnasium environment and films the best, the median or the worst."""
    return _requested(_agent_id(agent_id), _REPLAY, wanted_replay.episode, f"replays/{wanted_replay.episode}")


@api.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/replays/{episode}",
    response={404: schemas.Errors},
    summary="The video of an episode",
    openapi_extra=_VIDEO,
)
def replay(request: HttpRequest, agent_id: str, episode: str) -> HttpResponseBase:
    """H.264, with its length, a strong ETag (SHA-256), Range and If-None-Match."""
    return _artefact(request, _agent_id(agent_id), _REPLAY, episode, content_type="video/mp4")


@api.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/replays/{episode}/poster",
    response={404: schemas.Errors},
    summary="The picture in the middle of an episode",
    openapi_extra=_PICTURE,
)
def poster(request: HttpRequest, agent_id: str, episode: str) -> HttpResponseBase:
    return _artefact(request, _agent_id(agent_id), _REPLAY, episode, content_type="image/jpeg", poster=True)


def _requested(agent_id: int, kind: str, name: str, path: str) -> HttpResponse:
    artefacts.artefact_request(agent_id=agent_id, kind=kind, name=name)
    found = artefact_selectors.artefact_get(agent_id, kind, name)
    return _answer(found, 202, Location=f"/api/agents/{agent_id}/{path}")


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
        return _refusal(404, f"There is no {kind} {name!r} of agent {agent_id}: POST to /api/agents/{agent_id}/{kind}s")
    try:
        attachment = kind == _EXPORT
        return download(request, found.pop("storage_name"), **found, content_type=content_type, attachment=attachment)
    except FileNotFoundError:
        return _refusal(404, f"The {kind} {name!r} of agent {agent_id} is no longer in storage; ask for it again.")


@api.api_operation(["GET", "POST", "PUT", "PATCH", "DELETE"], "/{path:rest}", include_in_schema=False)
def nothing(request: HttpRequest, rest: str) -> HttpResponse:
    return _refusal(404, f"There is nothing at /api/{rest}; /api/docs lists what there is.")
