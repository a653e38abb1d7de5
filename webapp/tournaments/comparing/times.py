"""When a group reached a target, and what had been spent by then. Read through `comparison`."""

import math
from collections.abc import Sequence
from statistics import median

from django.db.models import Count, Max, Sum

from webapp.tournaments.comparing.groups import Group
from webapp.tournaments.models import Agent, Tournament
from webapp.tournaments.selectors import Item


def time_to_target(group: Group, target: float | None) -> Item:
    """When its first agent was scored at the target or above, and what had been spent by then; nulls where none was."""
    if group.agent is not None:
        return _named(group, [_of_agent(group.tournament, group.agent, target)])
    return _named(group, [_of_tournament(tournament, target) for tournament in group.tournaments])


def _of_tournament(tournament: Tournament, target: float | None) -> Item:
    scored = tournament.agents.filter(score__isnull=False, scored_at__isnull=False)
    in_order = scored.only("name", "scored_at").order_by("scored_at", "pk")
    first = in_order.filter(score__gte=target).first() if target is not None else None
    by_then = scored.filter(scored_at__lte=first.scored_at) if first else scored
    sums = by_then.aggregate(steps=Sum("env_steps", default=0), count=Count("pk"), best=Max("score"))
    return {
        "reached": first is not None,
        "seconds": _running_seconds(tournament, first) if first else None,
        "env_steps": sums["steps"],
        "agents": sums["count"],
        "best_score": sums["best"],
        "agent": str(first.pk) if first else None,
        "agent_name": first.name if first else None,
    }


def _of_agent(tournament: Tournament, agent: Agent, target: float | None) -> Item:
    """By its own score. Env steps are those of its line: without its ancestors it would not be there."""
    reached = target is not None and agent.score is not None and agent.score >= target
    return {
        "reached": reached,
        "seconds": _running_seconds(tournament, agent) if reached else None,
        "env_steps": agent.base_env_steps + agent.env_steps,
        "agents": 0 if agent.score is None else 1,
        "best_score": agent.score,
        "agent": str(agent.pk) if reached else None,
        "agent_name": agent.name if reached else None,
    }


def _named(group: Group, rows: Sequence[Item]) -> Item:
    """What `rows`, one for each tournament, are together."""
    reached = [row for row in rows if row["reached"]]
    times = [row["seconds"] for row in reached if row["seconds"] is not None]
    return {
        "group": group.key,
        **(rows[0] if len(rows) == 1 else _together(rows, reached)),
        "tournaments": len(rows),
        "tournaments_reached": len(reached),
        "earliest": min(times, default=None),
        "latest": max(times, default=None),
    }


def _together(rows: Sequence[Item], reached: Sequence[Item]) -> Item:
    """Medians over tournaments, where enough have reached it; else what all have spent."""
    seconds = _median([row["seconds"] for row in reached if row["seconds"] is not None], len(rows))
    env_steps = _median([row["env_steps"] for row in reached], len(rows))
    return {
        "reached": seconds is not None,
        "seconds": seconds,
        "env_steps": sum(row["env_steps"] for row in rows) if env_steps is None else round(env_steps),
        "agents": sum(row["agents"] for row in rows),
        "best_score": max((row["best_score"] for row in rows if row["best_score"] is not None), default=None),
        "agent": None,
        "agent_name": None,
    }


def _median(values: Sequence[float], count: int) -> float | None:
    """Of `count` values, of which those that are not known are above all others; None where it is one of them."""
    middle = median([*values, *[math.inf] * (count - len(values))])
    return middle if math.isfinite(middle) else None


def _running_seconds(tournament: Tournament, agent: Agent) -> float | None:
    """From the start of the tournament to the agent's score, pauses left out."""
    if tournament.started_at is None or agent.scored_at is None:
        return None
    seconds = (agent.scored_at - tournament.started_at).total_seconds()
    paused_at = None
    changes = tournament.events.filter(kind__in=("paused", "resumed"), at__lt=agent.scored_at).order_by("pk")
    for kind, at in changes.values_list("kind", "at"):
        if kind == "paused":
            paused_at = at
        elif paused_at is not None:
            seconds, paused_at = seconds - (at - paused_at).total_seconds(), None
    # A pod that was in its evaluation when the pause began ends it within the pause.
    return max(0.0, seconds - ((agent.scored_at - paused_at).total_seconds() if paused_at else 0.0))
