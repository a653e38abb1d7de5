"""The curves of all agents of a tournament, complete.

Read through `selectors`. A curve travels from PostgreSQL as packed bytes: a tournament may have a million points.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from django.db import connection

Axis = Literal["steps", "time", "depth"]
Floats = npt.NDArray[np.float64]

POINT = np.dtype([("env_steps", ">i8"), ("seconds", ">f8"), ("episodic_return", ">f8")])


class AgentCurve(NamedTuple):
    """What an agent's pod has reported, and where that lies in the tournament. packed: POINTs, as they were read

    start_seconds: from the tournament's start to its pod's; None while that waits
    """

    agent_id: int
    name: str
    depth: int
    base_env_steps: int
    start_seconds: float | None
    round_env_steps: int | None
    favoured: bool
    packed: bytes | memoryview

    @property
    def points(self) -> npt.NDArray[Any]:
        """[points] of POINT"""
        return np.frombuffer(self.packed, POINT)

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


_CURVES = """
    SELECT agent.id, agent.name, agent.depth, agent.base_env_steps,
        extract(epoch FROM pod.started_at - tournament.started_at)::float8,
        pod.env_steps_budget, entry.id IS NOT NULL OR pod.status = 'RUNNING', packed.points
    FROM tournaments_agent agent
    JOIN tournaments_tournament tournament ON tournament.id = agent.tournament_id
    JOIN tournaments_pod pod ON pod.agent_id = agent.id
    LEFT JOIN tournaments_leaderboardentry entry ON entry.agent_id = agent.id
    CROSS JOIN LATERAL (
        SELECT string_agg(
            int8send(env_steps) || float8send(seconds) || float8send(coalesce(episodic_return, 'NaN')),
            ''::bytea ORDER BY env_steps) AS points
        FROM tournaments_curvepoint WHERE agent_id = agent.id HAVING count(*) > 0
    ) packed
    WHERE agent.tournament_id = %(tournament)s {which} ORDER BY agent.index
"""
"""In the order of AgentCurve. Each agent's points are in the order of their index, so that none is sorted."""

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


def curves_read(tournament_id: int, *, newest: int | None = None) -> list[AgentCurve]:
    """The complete curves of the agents that have one, the eldest agent first, in one query.

    newest: only of so many of the newest agents, of the leaderboard and of pods that run
    """
    query = _CURVES.format(which="" if newest is None else _NEWEST)
    with connection.cursor() as cursor:
        cursor.execute(query, {"tournament": tournament_id, "newest": newest})
        return list(map(AgentCurve._make, cursor.fetchall()))
