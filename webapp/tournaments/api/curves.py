"""Learning curves of a tournament: a window of all of them, what they are as a group, and all of it as a table."""

import math
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.params.functions import Query

from podracer_core.errors import SpecError
from webapp.tournaments.api import common
from webapp.tournaments.curves import schemas as curve_schemas
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.curves.csv_table import curves_csv
from webapp.tournaments.curves.population import Axis
from webapp.tournaments.downloads import download_text

router = Router()

MAX_POINTS = 200_000
MAX_ROWS = 2000

_LOW: Any = Query(None, alias="from", description="where the window begins on the axis")
_HIGH: Any = Query(None, alias="to", description="where it ends")


@router.get(
    "/tournaments/{tournament_id}/curves",
    response=common.answers(curve_schemas.TournamentCurves, 404),
    summary="The learning curves of all agents",
    openapi_extra=common.CSV,
)
def curves(
    request: HttpRequest,
    tournament_id: str,
    axis: Axis = "steps",
    low: float | None = _LOW,
    high: float | None = _HIGH,
    points: int = Query(curve_selectors.POINTS, description="about so many, of all curves together"),
    format: Literal["json", "csv"] = "json",
) -> HttpResponseBase:
    """A window on them, downsampled keeping minima and maxima. ?format=csv has every point and every loss of all."""
    number = common.tournament_id(tournament_id)
    if format == "csv":
        filename = f"tournament-{number}-curves.csv"
        return download_text(request, curves_csv(number), filename=filename, content_type=common.CSV_TYPE)
    _check(low, high, points, MAX_POINTS)
    found = curve_selectors.tournament_curves(
        number,
        axis=axis,
        low=-math.inf if low is None else low,
        high=math.inf if high is None else high,
        points=points,
    )
    return common.answer({"axis": axis, "curves": found})


@router.get(
    "/tournaments/{tournament_id}/curves/statistics",
    response=common.answers(curve_schemas.CurveStatistics, 404),
    summary="Mean, middle and best of all curves",
)
def statistics(
    request: HttpRequest,
    tournament_id: str,
    axis: Axis = "steps",
    low: float | None = _LOW,
    high: float | None = _HIGH,
    points: int = Query(300, description="rows, at equal steps of the axis"),
) -> HttpResponse:
    """Over the pods under way at x: mean with its 95 % interval, interquartile mean with the quartiles; best so far."""
    number = common.tournament_id(tournament_id)
    _check(low, high, points, MAX_ROWS)
    return common.answer(
        curve_selectors.tournament_curve_statistics(number, axis=axis, low=low, high=high, points=points)
    )


def _check(low: float | None, high: float | None, points: int, most: int) -> None:
    """Raises SpecError for a window that is none."""
    for field, value in (("from", low), ("to", high)):
        if value is not None and not math.isfinite(value):
            raise SpecError([(field, f"give a finite number, got {value}")])
    if low is not None and high is not None and low >= high:
        raise SpecError([("to", f"give a number above from = {low:g}, got {high:g}")])
    if not 2 <= points <= most:
        raise SpecError([("points", f"give a whole number from 2 to {most}, got {points}")])
