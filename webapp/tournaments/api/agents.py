"""Agents: what they are, how they learned, and their checkpoints."""

from typing import Literal

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.params.functions import Query

from podracer_core.errors import SpecError
from webapp.tournaments import agent_selectors, schemas
from webapp.tournaments.api import common
from webapp.tournaments.curves import schemas as curve_schemas
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.downloads import download, download_text

router = Router()


@router.get("/agents/{agent_id}", response=common.answers(schemas.AgentOut, 404), summary="One agent")
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    return common.answer(agent_selectors.agent_get(common.agent_id(agent_id)))


@router.get(
    "/agents/{agent_id}/curve",
    response=common.answers(curve_schemas.CurveOut, 404),
    summary="An agent's learning curve",
)
def curve(
    request: HttpRequest,
    agent_id: str,
    points: int | Literal["all"] = Query(500, description="at most about so many, or all"),
    origin: Literal["self", "ancestor"] = Query("self", alias="from", description="ancestor: with its line"),
    format: Literal["json", "csv"] = "json",
) -> HttpResponseBase:
    """Columns of one length, downsampled keeping minima and maxima. CSV with ?format=csv or Accept: text/csv."""
    if points != "all" and not 2 <= points <= 100_000:
        raise SpecError([("points", f'give "all" or a whole number from 2 to 100000, got {points}')])
    number, most, line = common.agent_id(agent_id), None if points == "all" else points, origin == "ancestor"
    if format == "csv" or request.headers.get("Accept", "").split(",")[0].strip() == "text/csv":
        pieces = curve_selectors.agent_curve_csv(number, points=most, from_ancestor=line)
        filename = f"agent-{number}-curve.csv"
        return download_text(request, pieces, filename=filename, content_type="text/csv; charset=utf-8")
    return common.answer(curve_selectors.agent_curve(number, points=most, from_ancestor=line))


@router.api_operation(
    ["GET", "HEAD"],
    "/agents/{agent_id}/checkpoint",
    response={404: schemas.Errors},
    summary="Download the checkpoint",
    openapi_extra=common.FILE,
)
def checkpoint(request: HttpRequest, agent_id: str) -> HttpResponseBase:
    """A .safetensors file with its length, a strong ETag (SHA-256), Range and If-None-Match."""
    found = agent_selectors.checkpoint_get(common.agent_id(agent_id))
    if found is None:
        return common.refusal(
            404, f"Agent {agent_id} has no checkpoint: its pod has not ended, or it ended without one."
        )
    try:
        return download(request, found.pop("storage_name"), **found)
    except FileNotFoundError:
        return common.refusal(404, f"The checkpoint of agent {agent_id} is no longer in storage.")
