"""Insights: lineage, hyperparameters and the use of slots, in columns for charts and data frames."""

from collections.abc import Iterator
from typing import Literal

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router

from webapp.tournaments.api import common
from webapp.tournaments.downloads import download_text
from webapp.tournaments.insights import csv_tables, insights, occupancy
from webapp.tournaments.insights import schemas as insight_schemas

router = Router()


def _csv(request: HttpRequest, pieces: Iterator[str], number: int, what: str) -> HttpResponseBase:
    filename = f"tournament-{number}-{what}.csv"
    return download_text(request, pieces, filename=filename, content_type=common.CSV_TYPE)


@router.get(
    "/tournaments/{tournament_id}/lineage",
    response=common.answers(insight_schemas.LineageOut, 404),
    summary="Every agent and whom it comes from",
    openapi_extra=common.CSV,
)
def lineage(request: HttpRequest, tournament_id: str, format: Literal["json", "csv"] = "json") -> HttpResponseBase:
    number = common.tournament_id(tournament_id)
    if format == "csv":
        return _csv(request, csv_tables.lineage_csv(number), number, "lineage")
    return common.answer(insights.lineage_get(number))


@router.get(
    "/tournaments/{tournament_id}/hyperparameters",
    response=common.answers(insight_schemas.HyperparametersOut, 404),
    summary="Hyperparameters of every agent, and what of them mattered",
    openapi_extra=common.CSV,
)
def hyperparameters(
    request: HttpRequest, tournament_id: str, format: Literal["json", "csv"] = "json"
) -> HttpResponseBase:
    """Importance: the corrected correlation ratio (Kelley 1935) of score ranks among agents of like depth.

    Its interval resamples founders with all that descend from them.
    """
    number = common.tournament_id(tournament_id)
    if format == "csv":
        return _csv(request, csv_tables.hyperparameters_csv(number), number, "hyperparameters")
    return common.answer(insights.hyperparameters_get(number))


@router.get(
    "/tournaments/{tournament_id}/slots",
    response=common.answers(insight_schemas.SlotUseOut, 404),
    summary="What each slot ran, and when it was idle",
    openapi_extra=common.CSV,
)
def slots(request: HttpRequest, tournament_id: str, format: Literal["json", "csv"] = "json") -> HttpResponseBase:
    number = common.tournament_id(tournament_id)
    if format == "csv":
        return _csv(request, csv_tables.slots_csv(number), number, "slots")
    return common.answer(occupancy.slots_get(number))


@router.get(
    "/agents/{agent_id}/schedule",
    response=common.answers(insight_schemas.ScheduleOut, 404),
    summary="The hyperparameters of an agent's line over its env steps",
)
def schedule(request: HttpRequest, agent_id: str) -> HttpResponse:
    return common.answer(insights.schedule_get(common.agent_id(agent_id)))
