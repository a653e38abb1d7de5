"""The curves of all agents of a tournament, complete.

Read through `selectors`. A curve travels from PostgreSQL as packed bytes: a tournament may have a million points.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from django.db import connection

from webapp.tournaments.models import Agent, Pod

Axis = Literal["steps", "time", "depth"]
Floats = npt.NDArray[np.float64]

_COLUMNS = (
    *("pk", "name", "depth", "base_env_steps", "entry__rank"),
    *("pod__status", "pod__started_at", "pod__env_steps_budget", "tournament__started_at"),
)
POINT = np.dtype([("env_steps", ">i8"), ("seconds", ">f8"), ("episodic_return", ">f8")])


@dataclass(frozen=True)
class AgentCurve:
    """What an agent's pod has reported, and where that lies in the tournament. points: [points] of POINT

    start_seconds: from the tournament's start to its pod's; None while that waits
    """

    agent_id: int
    name: str
    depth: int
    base_env_steps: int
    start_seconds: float | None
    round_env_steps: int | None
    favoured: bool
    points: npt.NDArray[Any]

    def place(self, axis: Axis) -> tuple[float, float]:
        """Where on the axis its points lie: offset and divisor, see `on_axis`. Ancestors' steps, the pod's start or the
        generations before it are counted in.
        """
        if axis == "time":
            return self.start_seconds or 0.0, 1.0
        if axis == "steps":
            return self.base_env_steps, 1.0
        return self.depth, max(1, self.round_env_steps or self.points["env_steps"][-1])

    def x(self, axis: Axis) -> Floats:
        return on_axis(axis, self.points, *self.place(axis))

    @property
    def returns(self) -> Floats:
        return returns_of(self.points)


def on_axis(axis: Axis, points: npt.NDArray[Any], offset: Any, divisor: Any) -> Floats:
    """x of `points`: seconds or env steps, divided and moved."""
    column = points["seconds" if axis == "time" else "env_steps"].astype(np.float64)
    return np.asarray(offset + column / divisor)


def returns_of(points: npt.NDArray[Any]) -> Floats:
    """NaN where nothing is known."""
    values = points["episodic_return"].astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    return values


def curves_read(tournament_id: int, *, newest: int | None = None) -> list[AgentCurve]:
    """The complete curves of the agents that have one, the eldest agent first, in two queries.

    newest: only of so many of the newest agents, of the leaderboard and of pods that run
    """
    packed = _packed(tournament_id, newest)
    agents = Agent.objects.filter(tournament_id=tournament_id)
    if newest is not None:
        agents = agents.filter(pk__in=packed)
    rows = agents.order_by("index").values_list(*_COLUMNS)
    return [_agent_curve(row, np.frombuffer(packed[row[0]], POINT)) for row in rows if row[0] in packed]


_NEWEST = """
    AND agent.id IN (
        SELECT agent_id FROM tournaments_leaderboardentry WHERE tournament_id = %(tournament)s
        UNION SELECT agent_id FROM tournaments_pod WHERE tournament_id = %(tournament)s AND status = 'RUNNING'
        UNION SELECT id FROM (
            SELECT id FROM tournaments_agent WHERE tournament_id = %(tournament)s AND kind = 'agent'
            ORDER BY index DESC LIMIT %(newest)s
        ) latest
    )
"""


def _packed(tournament_id: int, newest: int | None) -> dict[int, Any]:
    query = f"""
        SELECT point.agent_id, string_agg(
            int8send(point.env_steps) || float8send(point.seconds)
                || float8send(coalesce(point.episodic_return, 'NaN')),
            ''::bytea ORDER BY point.env_steps)
        FROM tournaments_curvepoint point JOIN tournaments_agent agent ON agent.id = point.agent_id
        WHERE agent.tournament_id = %(tournament)s {"" if newest is None else _NEWEST} GROUP BY point.agent_id
    """  # noqa: S608 - no values
    with connection.cursor() as cursor:
        cursor.execute(query, {"tournament": tournament_id, "newest": newest})
        return dict(cursor.fetchall())


def _agent_curve(row: tuple[Any, ...], points: npt.NDArray[Any]) -> AgentCurve:
    agent_id, name, depth, base_env_steps, rank, status, pod_began, budget, began = row
    return AgentCurve(
        agent_id=agent_id,
        name=name,
        depth=depth,
        base_env_steps=base_env_steps,
        start_seconds=(pod_began - began).total_seconds() if pod_began and began else None,
        round_env_steps=budget,
        favoured=rank is not None or status == Pod.Status.RUNNING,
        points=points,
    )
