"""Tournaments and agents beside each other."""

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from webapp.accounts.access import request_actor
from webapp.tournaments import access
from webapp.tournaments.api import common
from webapp.tournaments.comparing import comparison
from webapp.tournaments.comparing.groups import groups_find
from webapp.tournaments.comparing.schemas import ComparisonOut

router = Router()


@router.get("/compare", response=common.answers(ComparisonOut, 404), summary="Compare tournaments and agents")
def compare(
    request: HttpRequest,
    t: Annotated[list[str], Query(default_factory=list, description="ids of tournaments")],
    a: Annotated[list[str], Query(default_factory=list, description="ids of agents")],
    x: Literal["steps", "seconds"] = "steps",
    of: Literal["board", "champion"] = "board",
    group: Literal["none", "spec"] = "none",
    target: Annotated[float | None, Query(allow_inf_nan=False)] = None,
) -> HttpResponse:
    """`?t=1&t=2&a=7`: mean curves, time to target, interquartile means, performance profiles, probabilities of
    improvement and what differs in the specifications. `of`: which agents stand for a tournament. `group=spec`:
    tournaments that differ in name, seed and priority alone are one group, whose intervals are over tournaments.
    """
    tournaments, agents = list(map(common.tournament_id, t)), list(map(common.agent_id, a))
    visible = access.visible(request_actor(request))
    groups = groups_find(tournaments, agents, visible=visible, of=of, grouping=group)
    return common.answer(comparison.compare(groups, axis=x, target=target))
