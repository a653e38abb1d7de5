"""The learning curves of a group as a mean and a band. The database puts the points into bins, so that the size of what
is read depends on the agents and not on how often they reported. Read through `comparison`.
"""

from typing import Any, Literal

import numpy as np
from django.db.models import Avg, F, FloatField, IntegerField, Max, QuerySet, Value
from django.db.models.functions import Cast, Extract, Floor, Greatest, Least

from podracer_core.tournament import comparison as statistics
from webapp.tournaments.models import CurvePoint, Pod, Tournament

Axis = Literal["steps", "seconds"]

BINS = 120

NO_CURVE: dict[str, list[Any]] = {name: [] for name in ("x", "mean", "low", "high", "best", "agents")}


def mean_curve(tournament: Tournament, axis: Axis, agent_id: int | None = None) -> dict[str, list[Any]]:
    """Columns over `x`: the mean of the agents under way with the 95 % interval of it, how many these are, and the best
    return of any so far. x counts as on the tournament's page: ancestors' steps included, or seconds since its start.
    """
    end = _end(tournament, axis, agent_id)
    if not end:
        return NO_CURVE
    lines, best = _lines(_points(tournament, axis, agent_id), end)
    if not len(lines):
        return NO_CURVE
    whole = statistics.bridged(lines)
    mean, low, high = statistics.mean_band(whole)
    known = ~np.isnan(mean)
    x = (np.arange(BINS) + 0.5) * end / BINS
    columns = {"x": x, "mean": mean, "low": low, "high": high, "best": np.fmax.accumulate(best)}
    agents = (~np.isnan(whole)).sum(axis=0)
    return {**{name: column[known].tolist() for name, column in columns.items()}, "agents": agents[known].tolist()}


def _end(tournament: Tournament, axis: Axis, agent_id: int | None) -> float:
    """Where the last curve ends."""
    pods = tournament.pods.filter(started_at__isnull=False)
    if agent_id is not None:
        pods = pods.filter(agent=agent_id)
    x = F("agent__base_env_steps") + F("env_steps") if axis == "steps" else _since(tournament, "") + F("seconds")
    return float(pods.aggregate(end=Max(Cast(x, FloatField())))["end"] or 0)


def _since(tournament: Tournament, to_pod: str) -> Any:
    """Seconds from the start of the tournament to that of the pod."""
    began = tournament.started_at.timestamp() if tournament.started_at else 0.0
    return Cast(Extract(f"{to_pod}started_at", "epoch"), FloatField()) - Value(began)


def _points(tournament: Tournament, axis: Axis, agent_id: int | None) -> QuerySet[CurvePoint]:
    points = CurvePoint.objects.filter(
        agent__in=Pod.objects.filter(tournament=tournament).values("agent"), episodic_return__isnull=False
    )
    if agent_id is not None:
        points = points.filter(agent=agent_id)
    offset = F("agent__base_env_steps") if axis == "steps" else _since(tournament, "agent__pod__")
    own = F("env_steps") if axis == "steps" else F("seconds")
    return points.annotate(x=Cast(offset + own, FloatField()))


def _lines(points: QuerySet[CurvePoint], end: float) -> tuple[Any, Any]:
    """The mean return of each agent in each bin, NaN where it has none, and the best of all in each bin."""
    place = Cast(Floor(F("x") * Value(BINS / end)), IntegerField())
    binned = points.annotate(bin=Greatest(Value(0), Least(place, Value(BINS - 1))))
    rows = binned.order_by().values_list("agent_id", "bin").annotate(mean=Avg("episodic_return"))
    found = list(rows.annotate(best=Max("episodic_return")).values_list("agent_id", "bin", "mean", "best"))
    agents, bins, means, tops = np.array(found, np.float64).reshape(-1, 4).T
    known, number = np.unique(agents, return_inverse=True)
    lines, best = np.full((len(known), BINS), np.nan), np.full(BINS, np.nan)
    lines[number, bins.astype(np.intp)] = means
    np.fmax.at(best, bins.astype(np.intp), tops)
    return lines, best
