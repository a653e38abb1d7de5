"""The learning curves of a group as a mean and a band. Read through `comparison`.

Points travel as packed bytes and are put into bins some agents at a time: a tournament may have millions.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from django.db import connection
from django.db.models import F, FloatField, Max, Value
from django.db.models.functions import Cast, Extract

from podracer_core.tournament import comparison as statistics
from webapp.tournaments.models import Tournament

Axis = Literal["steps", "seconds"]

BINS = 120

AGENTS = 500
"""Whose points are in memory at once."""

POINT = np.dtype([("x", ">f8"), ("episodic_return", ">f8")])

NO_CURVE: dict[str, list[Any]] = {name: [] for name in ("x", "mean", "low", "high", "best", "agents", "tournaments")}


def mean_curve(tournaments: Sequence[Tournament], axis: Axis, agent_id: int | None = None) -> dict[str, list[Any]]:
    """Columns over `x`: the mean of the agents under way with the 95 % interval of it, how many these are, and the best
    return of any so far. x counts as on the tournament's page: ancestors' steps included, or seconds since its start.

    Of several tournaments: the mean of their means, with its interval over tournaments.
    """
    end = max(_end(tournament, axis, agent_id) for tournament in tournaments)
    runs = [found for tournament in tournaments for found in _lines(tournament, axis, agent_id, end)]
    if not runs:
        return NO_CURVE
    agents = sum((~np.isnan(lines)).sum(axis=0) for lines, _ in runs)
    means = np.stack([statistics.mean_line(lines) for lines, _ in runs])
    mean, low, high = statistics.mean_band(means if len(tournaments) > 1 else runs[0][0])
    columns = {
        "x": (np.arange(BINS) + 0.5) * end / BINS,
        "mean": mean,
        "low": low,
        "high": high,
        "best": np.fmax.accumulate(np.fmax.reduce([best for _, best in runs])),
        "agents": agents,
        "tournaments": (~np.isnan(means)).sum(axis=0),
    }
    known = ~np.isnan(mean)
    return {name: column[known].tolist() for name, column in columns.items()}


def _lines(tournament: Tournament, axis: Axis, agent_id: int | None, end: float) -> list[tuple[Any, Any]]:
    """One pair: the lines of a tournament's agents without gaps, and the best of all in each bin. None without points.

    end: where the last bin ends
    """
    binned = [_binned(curves, end) for curves in _read(tournament, axis, agent_id)] if end else []
    if not binned:
        return []
    lines = statistics.bridged(np.concatenate([means for means, _ in binned]))
    return [(lines, np.fmax.reduce([best for _, best in binned]))]


def _end(tournament: Tournament, axis: Axis, agent_id: int | None) -> float:
    """Where the last curve ends."""
    pods = tournament.pods.filter(started_at__isnull=False)
    if agent_id is not None:
        pods = pods.filter(agent=agent_id)
    x = F("agent__base_env_steps") + F("env_steps") if axis == "steps" else _since(tournament) + F("seconds")
    return float(pods.aggregate(end=Max(Cast(x, FloatField())))["end"] or 0)


def _since(tournament: Tournament) -> Any:
    """Seconds from the start of the tournament to that of the pod."""
    return Cast(Extract("started_at", "epoch"), FloatField()) - Value(_began(tournament))


def _began(tournament: Tournament) -> float:
    return tournament.started_at.timestamp() if tournament.started_at else 0.0


_X = {
    "steps": "agent.base_env_steps + point.env_steps",
    "seconds": """
        (SELECT extract(epoch FROM started_at)::float8 FROM tournaments_pod WHERE agent_id = agent.id)
            - %(began)s + point.seconds
    """,
}
_POINTS = """
    SELECT packed FROM tournaments_agent agent CROSS JOIN LATERAL (
        SELECT string_agg(float8send({x}) || float8send(episodic_return), ''::bytea) AS packed
        FROM tournaments_curvepoint point WHERE point.agent_id = agent.id AND episodic_return IS NOT NULL
    ) own
    WHERE agent.tournament_id = %(tournament)s {which} AND packed IS NOT NULL
"""


def _read(tournament: Tournament, axis: Axis, agent_id: int | None) -> Iterator[list[bytes]]:
    """The points of some agents at a time, of each as packed POINTs."""
    query = _POINTS.format(x=_X[axis], which="" if agent_id is None else "AND agent.id = %(agent)s")
    values = {"tournament": tournament.pk, "agent": agent_id, "began": _began(tournament)}
    with connection.chunked_cursor() as cursor:
        cursor.execute(query, values)
        while rows := cursor.fetchmany(AGENTS):
            yield [packed for (packed,) in rows]


def _binned(curves: list[bytes], end: float) -> tuple[Any, Any]:
    """The mean return of each agent in each bin, NaN where it has none, and the best of all in each bin."""
    points = np.frombuffer(b"".join(curves), POINT)
    line = np.repeat(np.arange(len(curves)), [len(curve) // POINT.itemsize for curve in curves])
    bins = np.clip(points["x"] * (BINS / end), 0, BINS - 1).astype(np.intp)
    returns = points["episodic_return"].astype(np.float64)
    place, size = line * BINS + bins, len(curves) * BINS
    with np.errstate(invalid="ignore"):
        means = np.bincount(place, returns, size) / np.bincount(place, minlength=size)
    best = np.full(BINS, np.nan)
    np.fmax.at(best, bins, returns)
    return means.reshape(-1, BINS), best
