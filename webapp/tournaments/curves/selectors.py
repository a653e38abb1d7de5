"""Reads of learning curves: of an agent, or of all agents of a tournament."""

import math
from collections.abc import Iterator
from typing import Any

from webapp.tournaments.curves import csv_table, curves, statistics, window
from webapp.tournaments.curves.population import Axis, curves_read
from webapp.tournaments.lineage import ancestry
from webapp.tournaments.models import Agent

POINTS = 30_000
"""Of all curves of a tournament together."""

LATEST_AGENTS = 2_000
"""The newest, whose curves a page begins with beside those of the leaderboard and of pods that run."""


def agent_curve(agent_id: int, *, points: int | None = 500, from_ancestor: bool = False) -> curves.Curve:
    """An agent's curve; `points=None` is complete, `from_ancestor` prepends the line that it descends from.

    Raises Agent.DoesNotExist.
    """
    line = _line(agent_id, from_ancestor)
    found = curves.curves_of(line)
    whole = curves.joined(found[member] for member in line if member in found)
    return whole if points is None else curves.thinned(whole, points)


def agent_curve_csv(agent_id: int, *, points: int | None = 500, from_ancestor: bool = False) -> Iterator[str]:
    """The same as a table; one that is complete is read bit by bit. Raises Agent.DoesNotExist."""
    if points is None:
        return csv_table.line_csv(_line(agent_id, from_ancestor))
    return csv_table.columns_csv(agent_curve(agent_id, points=points, from_ancestor=from_ancestor))


def _line(agent_id: int, from_ancestor: bool) -> list[int]:
    """The ids of the agent or of its line, the founder first."""
    agent = Agent.every.only("pk").get(pk=agent_id)
    return [member.pk for member in ancestry(agent)] if from_ancestor else [agent.pk]


def tournament_curves(
    tournament_id: int,
    *,
    axis: Axis = "steps",
    low: float = -math.inf,
    high: float = math.inf,
    points: int = POINTS,
) -> dict[str, window.Curve]:
    """The return curves of a tournament's agents where `axis` is from `low` to `high`, by agent id.

    Together about `points`; each keeps its extremes.
    """
    return window.window(curves_read(tournament_id), axis, low, high, points)


def tournament_curve_statistics(
    tournament_id: int, *, axis: Axis = "steps", low: float | None = None, high: float | None = None, points: int = 300
) -> dict[str, list[Any]]:
    """Mean, middle and best of all pods of a tournament at equal x, as columns."""
    return statistics.group(curves_read(tournament_id), axis, low, high, points)


def latest_curves(tournament_id: int) -> dict[str, window.Curve]:
    """Those that a page begins with, no more of them however long the tournament has run.

    Of the leaderboard, of pods that run and of the newest agents.
    """
    return window.window(curves_read(tournament_id, newest=LATEST_AGENTS), "steps", -math.inf, math.inf, POINTS)
