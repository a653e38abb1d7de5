"""Several agents of a tournament as one policy: asked for here, listed on the leaderboard, played like any agent."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from webapp.tournaments import schemas
from webapp.tournaments.api import common
from webapp.tournaments.artefacts import ensemble_selectors, ensembles
from webapp.tournaments.artefacts import schemas as artefact_schemas
from webapp.tournaments.schemas import Limit, Offset

router = Router()


@router.get(
    "/tournaments/{tournament_id}/ensembles",
    response=common.answers(artefact_schemas.EnsemblePage, 404),
    summary="Ensembles, the newest first",
)
def ensemble_list(request: HttpRequest, tournament_id: str, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    number = common.tournament_id(tournament_id)
    return common.answer(ensemble_selectors.ensemble_list(number, limit=limit, offset=offset))


@router.post(
    "/tournaments/{tournament_id}/ensembles",
    response=common.answers(schemas.EnsembleOut, 404, 409, status=202),
    summary="Have the best agents made one policy",
)
def ensemble_request(
    request: HttpRequest, tournament_id: str, wanted_ensemble: artefact_schemas.EnsembleRequest
) -> HttpResponse:
    """A worker makes it of the agents that stand on the leaderboard now, and evaluates it on fresh seeds.

    Asking again for the same agents answers the ensemble that they are; one that failed is tried again.
    """
    number = common.tournament_id(tournament_id)
    return _asked_for(ensembles.ensemble_request(tournament_id=number, size=wanted_ensemble.size).pk)


@router.post(
    "/tournaments/{tournament_id}/ensembles/{agent_id}/retry",
    response=common.answers(schemas.EnsembleOut, 404, 409, status=202),
    summary="Try an ensemble that failed again, of the same agents",
)
def ensemble_retry(request: HttpRequest, tournament_id: str, agent_id: str) -> HttpResponse:
    number, agent = common.tournament_id(tournament_id), common.agent_id(agent_id)
    ensembles.ensemble_retry(tournament_id=number, agent_id=agent)
    return _asked_for(agent)


@router.delete(
    "/tournaments/{tournament_id}/ensembles/{agent_id}",
    response={204: None, 404: schemas.Errors},
    summary="Remove an ensemble; its members stay",
)
def ensemble_delete(request: HttpRequest, tournament_id: str, agent_id: str) -> HttpResponse:
    number, agent = common.tournament_id(tournament_id), common.agent_id(agent_id)
    ensembles.ensemble_delete(tournament_id=number, agent_id=agent)
    return HttpResponse(status=204)


def _asked_for(agent_id: int) -> HttpResponse:
    return common.answer(ensemble_selectors.ensemble_get(agent_id), 202, Location=f"/api/agents/{agent_id}")
