"""Learning curves as a table: a row a point, an empty cell where a value is not known.

All of a tournament's in one, or those of a line of descent one behind the other.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from webapp.tournaments.curves.curves import AXES, Curve
from webapp.tournaments.models import CurvePoint

COLUMNS = ("agent", "name", "env_steps", "total_env_steps", "seconds", "episodic_return")
BATCH = 2000
"""Points that are in memory at once."""


def curves_csv(tournament_id: int) -> Iterator[str]:
    """The eldest agent first. `total_env_steps` counts the ancestors' in; what learners report follows, by name."""
    losses = _losses("agent_id IN (SELECT id FROM tournaments_agent WHERE tournament_id = %s)", [tournament_id])
    points = (
        CurvePoint.objects.filter(agent__tournament=tournament_id)
        .order_by("agent__index", "env_steps", "attempt")
        .values_list(
            *("agent_id", "agent__name", "env_steps", "agent__base_env_steps", "seconds", "episodic_return", "losses")
        )
    )
    yield from _table((*COLUMNS, *losses), (_row(point, losses) for point in _read(points)))


def line_csv(agent_ids: Sequence[int]) -> Iterator[str]:
    """The complete curves of a line of descent, env steps and seconds counted on, as `curves.joined` has them."""
    losses = _losses("agent_id = ANY(%s)", [list(agent_ids)])
    points = (
        CurvePoint.objects.filter(agent__in=agent_ids)
        .order_by("agent__depth", "env_steps")
        .values_list("agent_id", "env_steps", "seconds", "episodic_return", "losses")
    )
    yield from _table((*AXES, "episodic_return", *losses), _line(points, losses))


def columns_csv(curve: Curve) -> Iterator[str]:
    """A curve that is in memory."""
    yield from _table(curve, zip(*curve.values(), strict=True))


def records_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Any table: what is not known, or is no number, is an empty cell; several values stand in one with spaces."""
    yield from _table(head, ([_written(value) for value in row] for row in rows))


def _written(value: Any) -> Any:
    """No text is taken for a formula by a spreadsheet."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, str):
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    return "" if value is None or (isinstance(value, float) and not math.isfinite(value)) else value


def _line(points: QuerySet[Any, Any], losses: list[str]) -> Iterator[list[Any]]:
    end_steps, end_seconds = 0, 0.0
    for _, own in groupby(_read(points), itemgetter(0)):
        before_steps, before_seconds = end_steps, end_seconds
        for _, env_steps, seconds, episodic_return, reported in own:
            end_steps, end_seconds = before_steps + env_steps, before_seconds + seconds
            yield [end_steps, end_seconds, *_cells(episodic_return, reported, losses)]


def _read(points: QuerySet[Any, Any]) -> Iterator[Any]:
    return points.iterator(chunk_size=BATCH)


def _table(head: Iterable[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield _lines([head])
    rest = iter(rows)
    while batch := list(islice(rest, BATCH)):
        yield _lines(batch)


def _losses(condition: str, values: list[Any]) -> list[str]:
    """What learners report, by name. condition: of the points, with places for `values`"""
    query = f"""
        SELECT DISTINCT jsonb_object_keys(losses) AS name FROM tournaments_curvepoint WHERE {condition} ORDER BY name
    """  # noqa: S608 - no values
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [name for (name,) in cursor.fetchall()]


def _row(point: tuple[Any, ...], losses: list[str]) -> list[Any]:
    agent, name, env_steps, base, seconds, episodic_return, reported = point
    return [agent, name, env_steps, base + env_steps, seconds, *_cells(episodic_return, reported, losses)]


def _cells(episodic_return: float | None, reported: Mapping[str, Any], losses: list[str]) -> list[Any]:
    return [_cell(value) for value in (episodic_return, *(reported.get(loss) for loss in losses))]


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float) and math.isfinite(value) else ""


def _lines(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
