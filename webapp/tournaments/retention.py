"""Which training states can go. They are large, with a replay buffer above all, and most are never inherited."""

from webapp.tournaments import rows, storage
from webapp.tournaments.models import Tournament

_RELEASE = """
    UPDATE tournaments_agent SET state_file = ''
    FROM (
        SELECT agent.id, agent.state_file
        FROM tournaments_agent agent
        WHERE agent.tournament_id = %s AND agent.state_file <> '' AND NOT agent.promotable
            AND agent.scored_at IS NOT NULL
            AND NOT EXISTS (SELECT FROM tournaments_leaderboardentry entry WHERE entry.agent_id = agent.id)
            AND agent.id NOT IN (
                SELECT link.to_agent_id
                FROM tournaments_pod pod JOIN tournaments_agent_parents link ON link.from_agent_id = pod.agent_id
                WHERE pod.tournament_id = %s AND pod.status IN ('QUEUED', 'RUNNING')
            )
            AND {unwanted}
    ) released
    WHERE tournaments_agent.id = released.id
    RETURNING released.state_file
"""
"""Scored, off the leaderboard, not to be promoted, in use by no pod, and of no interest to the tournament's mode."""

_UNWANTED = {
    "generational": """agent.stage <> (
        SELECT max(latest.stage) FROM tournaments_agent latest WHERE latest.tournament_id = agent.tournament_id
    )""",
}


def states_release(tournament: Tournament) -> int:
    """Remove the training states that nobody can refer to any more. Returns how many.

    Checkpoints stay, and so do the records. Called with the tournament's row locked, which is what pods are made
    under: none that names a state can appear before this commits, and files go after.
    """
    query = _RELEASE.format(unwanted=_UNWANTED.get(tournament.parsed_spec.generator.mode, "true"))
    released = rows.fetch_all(query, [tournament.pk, tournament.pk])
    for (name,) in released:
        storage.delete_on_commit(name)
    return len(released)
