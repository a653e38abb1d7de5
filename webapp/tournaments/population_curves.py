"""The curves of all agents of a tournament, complete or a window of them thinned to a number of points.

Read through `selectors`. A curve travels from PostgreSQL as packed bytes: a tournament may have a million points.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from django.db import connection
from tsdownsample import MinMaxDownsampler

from webapp.tournaments.models import Agent, Pod

Axis = Literal["steps", "time", "depth"]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Curve = dict[str, Any]

LINE_POINTS = 1000
"""The most that one line is drawn with: more than its share of a wide screen has pixels."""

FEWEST_POINTS = 8
"""What a line keeps, however many there are."""

_POINT = np.dtype([("env_steps", ">i8"), ("seconds", ">f8"), ("episodic_return", ">f8")])


@dataclass(frozen=True)
class AgentCurve:
    """What an agent's pod has reported, and where that lies in the tournament. points: [points] of _POINT

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

    def x(self, axis: Axis) -> Floats:
        """Where the points lie: ancestors' steps or the pod's start counted in, or as a share of a generation."""
        if axis == "time":
            return (self.start_seconds or 0.0) + self.points["seconds"].astype(np.float64)
        env_steps = self.points["env_steps"].astype(np.float64)
        if axis == "steps":
            return self.base_env_steps + env_steps
        return self.depth + env_steps / max(1, self.round_env_steps or env_steps[-1])

    @property
    def returns(self) -> Floats:
        """NaN where nothing is known."""
        values = self.points["episodic_return"].astype(np.float64)
        values[~np.isfinite(values)] = np.nan
        return values

    def columns(self, chosen: Indices) -> Curve:
        points = self.points[chosen]
        returns = self.returns[chosen]
        return {
            "name": self.name,
            "depth": self.depth,
            "base_env_steps": self.base_env_steps,
            "start_seconds": self.start_seconds,
            "round_env_steps": self.round_env_steps,
            "env_steps": points["env_steps"].tolist(),
            "seconds": np.round(points["seconds"].astype(np.float64), 3).tolist(),
            "episodic_return": [None if value != value else value for value in returns.tolist()],
        }


def curves_read(tournament_id: int, *, newest: int | None = None) -> list[AgentCurve]:
    """The complete curves of the agents that have one, the eldest agent first, in two queries.

    newest: only of so many of the newest agents, of the leaderboard and of pods that run
    """
    packed = _packed(tournament_id, newest)
    agents = Agent.objects.filter(tournament_id=tournament_id)
    rows = (
        (agents if newest is None else agents.filter(pk__in=packed))
        .select_related("pod", "tournament", "entry")
        .only(
            *("name", "depth", "base_env_steps", "tournament__started_at", "entry__rank"),
            *("pod__status", "pod__started_at", "pod__env_steps_budget"),
        )
        .order_by("index")
    )
    return [_agent_curve(row, np.frombuffer(packed[row.pk], _POINT)) for row in rows if row.pk in packed]


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


def _agent_curve(agent: Agent, points: npt.NDArray[Any]) -> AgentCurve:
    pod, began = agent.pod, agent.tournament.started_at
    return AgentCurve(
        agent_id=agent.pk,
        name=agent.name,
        depth=agent.depth,
        base_env_steps=agent.base_env_steps,
        start_seconds=(pod.started_at - began).total_seconds() if pod.started_at and began else None,
        round_env_steps=pod.env_steps_budget,
        favoured=hasattr(agent, "entry") or pod.status == Pod.Status.RUNNING,
        points=points,
    )


# A window


def window(curves: Sequence[AgentCurve], axis: Axis, low: float, high: float, points: int) -> dict[str, Curve]:
    """The parts of the curves within [low, high], and a neighbour at each end that leads out of it, by agent id.

    Together about `points`: every line keeps the minimum and the maximum of each of its stretches, and those of the
    leaderboard and of pods that train now have up to half of them before the others get theirs.
    """
    parts = [(curve, *_part(curve.x(axis), low, high)) for curve in curves]
    parts = [(curve, inside, around) for curve, inside, around in parts if around]
    favoured = [len(around) for curve, _, around in parts if curve.favoured]
    share = _share(favoured, points // 2)
    spent = sum(min(count, share) for count in favoured)
    others = _share([len(around) for curve, _, around in parts if not curve.favoured], points - spent)
    return {
        str(curve.agent_id): curve.columns(thinned(curve.returns, inside, around, share if curve.favoured else others))
        for curve, inside, around in parts
    }


def _part(x: Floats, low: float, high: float) -> tuple[range, range]:
    """Which points lie in the window, and these with a neighbour at each end; none where the line does not touch it."""
    first, after = int(np.searchsorted(x, low, side="left")), int(np.searchsorted(x, high, side="right"))
    if first == after and not 0 < first < len(x):
        return range(0), range(0)
    return range(first, after), range(max(0, first - 1), min(len(x), after + 1))


def _share(counts: Sequence[int], budget: int) -> int:
    """How many points each line may have, so that all have `budget` together; short lines leave theirs."""
    share, left = 0, budget
    for rank, count in enumerate(sorted(counts)):
        share = left // (len(counts) - rank)
        if share < count:
            break
        left -= count
    else:
        share = LINE_POINTS
    return min(LINE_POINTS, max(FEWEST_POINTS, share))


def thinned(values: Floats, inside: range, around: range, share: int) -> Indices:
    """At most about `share` indices: the extremes of stretches of `inside`, the ends, and a NaN in every gap."""
    if len(around) <= share:
        return np.arange(around.start, around.stop)
    known = inside.start + np.flatnonzero(~np.isnan(values[inside.start : inside.stop]))
    if len(known) > share:
        downsampler = MinMaxDownsampler()  # type: ignore[no-untyped-call]
        known = known[downsampler.downsample(values[known], n_out=share // 2 * 2)]
    ends = [end for part in (inside, around) if part for end in (part.start, part.stop - 1)]
    kept = np.union1d(known, ends).astype(np.intp)
    return np.union1d(kept, _gaps(values, kept)).astype(np.intp)


def _gaps(values: Floats, kept: Indices) -> Indices:
    """For each two neighbours of `kept` with unknown values between them, the first of these."""
    unknown = np.flatnonzero(np.isnan(values))
    between = np.searchsorted(unknown, kept)
    found = between[:-1] < between[1:]
    return unknown[between[:-1][found]]
