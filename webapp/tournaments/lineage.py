"""The line that an agent's weights come down, and the schedule that it makes."""

import json
from typing import Any

from webapp.tournaments import rows
from webapp.tournaments.models import Agent

Segment = dict[str, Any]
"""As podracer_core.spec.Segment."""


SCHEDULED = ("tournament_id", "env_steps", "hyperparameters", "num_envs", "schedule")
"""What is read of an agent whose schedule is asked for."""


def ancestry(agent: Agent, *columns: str) -> list[Agent]:
    """From its founder to itself, in one query that reads `columns` of each. Of averaged parents the first."""
    read = ", ".join(f"agent.{column}" for column in ("id", *columns))
    query = f"""
        WITH RECURSIVE line(id, step) AS (
            SELECT %s::bigint, 0
            UNION ALL
            SELECT agent.inherits_from_id, step + 1
            FROM line JOIN tournaments_agent agent ON agent.id = line.id
            WHERE agent.inherits_from_id IS NOT NULL AND step < 10000
        )
        SELECT {read} FROM line JOIN tournaments_agent agent ON agent.id = line.id ORDER BY step DESC
    """  # noqa: S608 - no values
    return list(Agent.objects.raw(query, [agent.pk]))


_PARENT = ("id", "index", "name", "score", "state_file")

PARENTS = f"""(
    SELECT jsonb_agg(jsonb_build_array({", ".join(f"parent.{name}" for name in _PARENT)}) ORDER BY parent.index)
    FROM tournaments_agent_parents link JOIN tournaments_agent parent ON parent.id = link.to_agent_id
    WHERE link.from_agent_id = agent.id
)"""  # noqa: S608 - no values
"""What a statement that reads an `agent` has for `parents_found`."""


def parents_found(agent: Agent, found: str | None) -> None:
    """Have the agent know its parents, as they were read with it."""
    agent.known_parents = []
    for key, index, name, score, state_file in json.loads(found or "[]"):
        values = [key, index, name, None if score is None else float(score), state_file]
        agent.known_parents.append(rows.made(Agent, _PARENT, values))


def parents_of(agent: Agent) -> list[Agent]:
    """The elder first."""
    if agent.strategy == "fresh":
        return []
    if agent.known_parents is None:
        row = rows.fetch_one(f"SELECT {PARENTS} FROM tournaments_agent agent WHERE id = %s", [agent.pk])  # noqa: S608 - no values
        parents_found(agent, row[0] if row else None)
    return [*(agent.known_parents or [])]


def heir_order(agent: Agent, parents: list[Agent]) -> list[Agent]:
    """The one first whose weights it has, then the elder."""
    return sorted(parents, key=lambda parent: (parent.pk != agent.inherits_from_id, parent.index))


def donors(agent: Agent, parents: list[Agent]) -> list[Agent]:
    """Of its parents those whose weights it starts with: nobody's, one agent's, or those that are averaged."""
    if agent.strategy == "fuse":
        return parents
    return [parent for parent in parents if parent.pk == agent.inherits_from_id]


def members(ensemble: Agent) -> list[Agent]:
    """The best first, as they stood on the leaderboard."""
    return sorted(ensemble.parents.all(), key=lambda member: (-(member.score or 0.0), member.index))


def schedule_of(agent: Agent) -> list[Segment]:
    """What each of its line trained with, one after another."""
    return [segment for member in ancestry(agent, *SCHEDULED) for segment in own_schedule(member)]


def own_schedule(agent: Agent) -> list[Segment]:
    """Of its own round, as far as it came: it may have reached the target in the middle."""
    planned = agent.schedule or [
        {"env_steps": agent.env_steps, "hyperparameters": agent.hyperparameters, "num_envs": agent.envs}
    ]
    left, done = agent.env_steps, []
    for segment in planned:
        steps = min(left, segment["env_steps"])
        if steps > 0:
            done.append({**segment, "env_steps": steps})
        left -= steps
    return done
