"""A tournament as its tables have it, read past all our own code."""

from collections import Counter
from typing import Any

_TOURNAMENT = """
    SELECT agents_created, pods_finished, env_steps_spent, pool_size FROM tournaments_tournament WHERE id = %s
"""
_AGENTS = """
    SELECT agent.id::text, agent.index, agent.strategy, agent.score, pod.status, pod.attempt, pod.env_steps, ARRAY(
        SELECT to_agent_id::text FROM tournaments_agent_parents WHERE from_agent_id = agent.id
    )
    FROM tournaments_agent agent JOIN tournaments_pod pod ON pod.agent_id = agent.id
    WHERE agent.tournament_id = %s AND agent.kind = 'agent'
"""
_BOARD = "SELECT agent_id::text FROM tournaments_leaderboardentry WHERE tournament_id = %s ORDER BY rank"
_POINTS = """
    SELECT point.agent_id::text, point.env_steps, point.attempt
    FROM tournaments_curvepoint point JOIN tournaments_agent agent ON agent.id = point.agent_id
    WHERE agent.tournament_id = %s
"""
_KINDS = "SELECT kind, count(*) FROM tournaments_event WHERE tournament_id = %s GROUP BY kind"


def read(cursor: Any, tournament: int) -> dict[str, Any]:
    """What `elastic_records.checks` compares. cursor: of psycopg2 or Django"""

    def rows(query: str) -> list[tuple[Any, ...]]:
        cursor.execute(query, [tournament])
        return list(cursor.fetchall())

    names = ("agents_created", "pods_finished", "env_steps_spent", "pool_size")
    columns = ("index", "strategy", "score", "status", "attempt", "env_steps", "parents")
    return {
        "tournament": dict(zip(names, rows(_TOURNAMENT)[0], strict=True)),
        "agents": {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows(_AGENTS)},
        "board": [agent for (agent,) in rows(_BOARD)],
        "points": rows(_POINTS),
        "kinds": Counter(dict(rows(_KINDS))),
    }
