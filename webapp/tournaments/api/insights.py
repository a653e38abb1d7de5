"""Insights: lineage, hyperparameters and the use of slots, in columns for charts and data frames."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from webapp.tournaments.api import common
from webapp.tournaments.insights import insights, occupancy
from webapp.tournaments.insights import schemas as insight_schemas

router = Router()


@router.get(
    "/tournaments/{tournament_id}/lineage",
    response=common.answers(insight_schemas.LineageOut, 404),
    summary="Every agent and whom it comes from",
)
def lineage(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return common.answer(insights.lineage_get(common.tournament_id(tournament_id)))


@router.get(
    "/tournaments/{tournament_id}/hyperparameters",
    response=common.answers(insight_schemas.HyperparametersOut, 404),
    summary="Hyperparameters of every agent, and what of them mattered",
)
def hyperparameters(request: HttpRequest, tournament_id: str) -> HttpResponse:
    """Importance: the corrected correlation ratio (Kelley 1935) of score ranks among agents of like depth.

    Its interval resamples founders with all that descend from them.
    """
    return common.answer(insights.hyperparameters_get(common.tournament_id(tournament_id)))


@router.get(
    "/tournaments/{tournament_id}/slots",
    response=common.answers(insight_schemas.SlotUseOut, 404),
    summary="What each slot ran, and when it was idle",
)
def slots(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return common.answer(occupancy.slots_get(common.tournament_id(tournament_id)))


@router.get(
    "/agents/{agent_id}/schedule",
    response=common.answers(insight_schemas.ScheduleOut, 404),
    summary="The hyperparameters of an agent's line over its env steps",
)
def schedule(request: HttpRequest, agent_id: str) -> HttpResponse:
    return common.answer(insights.schedule_get(common.agent_id(agent_id)))
