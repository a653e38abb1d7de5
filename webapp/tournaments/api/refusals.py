"""How the REST API says no: every error as `{"errors": [{"field", "message"}]}`."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from pydantic import BaseModel

from podracer_core.errors import SpecError
from podracer_core.sentences import sentence
from webapp.tournaments import schemas
from webapp.tournaments.api import common, notifications, retention, sharing
from webapp.tournaments.artefacts import schemas as artefact_schemas
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.models import Agent, Tournament, Webhook, Worker
from webapp.tournaments.workers import schemas as worker_schemas


def _spec_refused(request: HttpRequest, error: SpecError) -> HttpResponse:
    return common.answer({"errors": [{"field": field, "message": message} for field, message in error.errors]}, 422)


def _request_refused(request: HttpRequest, error: ValidationError) -> HttpResponse:
    found = [{"field": _field(detail["loc"]), "message": _sentence(detail)} for detail in error.errors]
    return common.answer({"errors": found}, 422)


def _field(loc: tuple[Any, ...]) -> str:
    """Ninja's (source, argument, field ...) without what only names our own code."""
    return ".".join(str(part) for part in (loc[2:] if loc[0] == "body" else loc[1:]))


_BODIES: dict[str, type[BaseModel]] = {
    "patch": schemas.TournamentPatch,
    "wanted_export": artefact_schemas.ExportRequest,
    "wanted_replay": artefact_schemas.ReplayRequest,
    "wanted_ensemble": artefact_schemas.EnsembleRequest,
    "change": sharing.SharingChange,
    "wanted_link": sharing.LinkRequest,
    "wanted_drain": worker_schemas.DrainRequest,
    "wanted_webhook": notifications.WebhookRequest,
    "wanted_retention": retention.RetentionRequest,
}
"""By the names of the arguments that take them."""


def _sentence(detail: dict[str, Any]) -> str:
    if detail["type"] == "extra_forbidden":
        return f"there is no such field; there are {', '.join(_BODIES[detail['loc'][1]].model_fields)}"
    return sentence(detail)


def _state_refused(request: HttpRequest, error: TournamentError) -> HttpResponse:
    return common.refusal(409, str(error))


def _missing(request: HttpRequest, error: Exception) -> HttpResponse:
    text = str(error)
    if "matching query" in text:  # Django's own sentence speaks of queries
        kind = "agent" if isinstance(error, Agent.DoesNotExist) else "tournament"
        text = f"There is no {kind} {request.path_info.split('/')[3]}."
    return common.refusal(404, text)


def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return common.refusal(413, "The request is larger than the 2.5 MB that are read.")


def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if error.__cause__ is not None:  # from Ninja, around what the parser raised
        return common.refusal(422, f"The body is not valid JSON: {error.__cause__}.")
    return common.refusal(error.status_code, str(error))


def install(api: NinjaAPI) -> None:
    """Have `api` answer these errors."""
    handlers: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
        SpecError: _spec_refused,
        ValidationError: _request_refused,
        TournamentError: _state_refused,
        Tournament.DoesNotExist: _missing,
        Agent.DoesNotExist: _missing,
        Worker.DoesNotExist: _missing,
        Webhook.DoesNotExist: _missing,
        RequestDataTooBig: _too_big,
        HttpError: _http_error,
    }
    for error, handler in handlers.items():
        api.add_exception_handler(error, handler)
