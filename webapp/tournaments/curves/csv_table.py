"""All learning curves of a tournament as one tidy table: a row a point, an empty cell where a value is not known."""

import csv
import io
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import connection

from webapp.tournaments.models import CurvePoint

COLUMNS = ("agent", "name", "env_steps", "total_env_steps", "seconds", "episodic_return")
BATCH = 2000
"""Points that are in memory at once."""


def curves_csv(tournament_id: int) -> Iterator[str]:
    """The eldest agent first. `total_env_steps` counts the ancestors' in; what learners report follows, by name."""
    losses = _losses(tournament_id)
    points = (
        CurvePoint.objects.filter(agent__tournament=tournament_id)
        .order_by("agent__index", "env_steps", "attempt")
        .values_list(
            *("agent_id", "agent__name", "env_steps", "agent__base_env_steps", "seconds", "episodic_return", "losses")
        )
    )
    yield _lines([(*COLUMNS, *losses)])
    rows = points.iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        yield _lines([_row(point, losses) for point in batch])


def _losses(tournament_id: int) -> list[str]:
    query = """
        SELECT DISTINCT jsonb_object_keys(point.losses) AS name
        FROM tournaments_curvepoint point JOIN tournaments_agent agent ON agent.id = point.agent_id
        WHERE agent.tournament_id = %s ORDER BY name
    """
    with connection.cursor() as cursor:
        cursor.execute(query, [tournament_id])
        return [name for (name,) in cursor.fetchall()]


def _row(point: tuple[Any, ...], losses: list[str]) -> list[Any]:
    agent, name, env_steps, base, seconds, episodic_return, reported = point
    values = [episodic_return, *(reported.get(loss) for loss in losses)]
    return [agent, name, env_steps, base + env_steps, seconds, *map(_cell, values)]


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float) and math.isfinite(value) else ""


def _lines(rows: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
