"""What every operation of the REST API shares: answers, refusals and the ids in addresses."""

from typing import Any, TypeVar

from django.http import HttpResponse

from webapp.tournaments import schemas, selectors, strict_json
from webapp.tournaments.models import Agent, Tournament

MAX_DIGITS = 18
"""Every id of so many digits fits into a bigint."""

_BINARY = {"schema": {"type": "string", "format": "binary"}}
VIDEO = {"responses": {status: {"content": {"video/mp4": _BINARY}} for status in (200, 206)}}
PICTURE = {"responses": {status: {"content": {"image/jpeg": _BINARY}} for status in (200, 206)}}
FILE = {"responses": {status: {"content": {"application/octet-stream": _BINARY}} for status in (200, 206)}}
CSV = {"responses": {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}}
CSV_TYPE = "text/csv; charset=utf-8"

Model = TypeVar("Model")


def answers(model: type[Model], *refusals: int, status: int = 200) -> dict[int, Any]:
    """What an operation may answer, for the documentation."""
    return {status: model, **dict.fromkeys((*refusals, 422), schemas.Errors)}


def answer(data: Any, status: int = 200, **headers: str) -> HttpResponse:
    """`data` as it is. Ninja would first check and copy it with the model, which takes longer than reading it."""
    body = strict_json.dumps(data)
    return HttpResponse(body, status=status, content_type="application/json", headers=headers)


def refusal(status: int, message: str, field: str = "") -> HttpResponse:
    return answer({"errors": [{"field": field, "message": message}]}, status)


def id_read(text: str) -> int | None:
    """The id that an address names; None for what cannot be one."""
    return int(text) if len(text) <= MAX_DIGITS and text.isascii() and text.isdecimal() else None


def _id(text: str, missing: type[Agent.DoesNotExist | Tournament.DoesNotExist], kind: str) -> int:
    """The id that an address names. Raises `missing` for what cannot be one."""
    number = id_read(text)
    if number is None:
        raise missing(f"There is no {kind} {text!r}.")
    return number


def tournament_id(text: str) -> int:
    """The id of a tournament that is there. Raises Tournament.DoesNotExist."""
    number = _id(text, Tournament.DoesNotExist, "tournament")
    if selectors.revision_get(number) is None:
        raise Tournament.DoesNotExist(f"There is no tournament {text}.")
    return number


def agent_id(text: str) -> int:
    """The id that an address names. Raises Agent.DoesNotExist for what cannot be one."""
    return _id(text, Agent.DoesNotExist, "agent")
