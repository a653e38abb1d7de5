"""Tournaments and agents beside each other."""

from typing import Annotated, Literal

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router

from webapp.accounts.access import request_actor
from webapp.tournaments import access
from webapp.tournaments.api import common
from webapp.tournaments.comparing import comparison
from webapp.tournaments.comparing.csv_tables import Part, comparison_csv
from webapp.tournaments.comparing.groups import groups_find
from webapp.tournaments.comparing.schemas import ComparisonOut
from webapp.tournaments.downloads import download_text

router = Router()


@router.get(
    "/compare",
    response=common.answers(ComparisonOut, 404),
    summary="Compare tournaments and agents",
    openapi_extra=common.CSV,
)
def compare(
    request: HttpRequest,
    t: Annotated[list[str], Query(default_factory=list, description="ids of tournaments")],
    a: Annotated[list[str], Query(default_factory=list, description="ids of agents")],
    x: Literal["steps", "seconds"] = "steps",
    of: Literal["board", "champion"] = "board",
    group: Literal["none", "spec"] = "none",
    target: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    format: Literal["json", "csv"] = "json",
    part: Annotated[Part, Query(description="which table, of CSV")] = "curves",
) -> HttpResponseBase:
    """`?t=1&t=2&a=7`: mean curves, time to target, interquartile means, performance profiles, probabilities of
    improvement and what differs in the specifications. `of`: which agents stand for a tournament. `group=spec`:
    tournaments that differ in name, seed and priority alone are one group, whose intervals are over tournaments.
    ?format=csv has one `part` of it as a table.
    """
    tournaments, agents = list(map(common.tournament_id, t)), list(map(common.agent_id, a))
    visible = access.visible(request_actor(request))
    groups = groups_find(tournaments, agents, visible=visible, of=of, grouping=group)
    compared = comparison.compare(groups, axis=x, target=target)
    if format == "csv":
        pieces, filename = comparison_csv(compared, part), f"comparison-{part}.csv"
        return download_text(request, pieces, filename=filename, content_type=common.CSV_TYPE)
    return common.answer(compared)
