"""The leaderboard in the database: the updater's decision carried out and told.

Called with the tournament's row locked.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from podracer_core.tournament import leaderboard, sentences, statistics, updater
from webapp.tournaments import event_data, events, rows
from webapp.tournaments.models import Agent, LeaderboardEntry, Pod, Tournament
from webapp.tournaments.population import entry_of, told_descent

COLORS = 12
"""Chip colours that the pages have."""

MOST_BESTS = 100
"""New best scores that are kept."""


ENTRIES = """(
    SELECT jsonb_agg(jsonb_build_array(ranked.index, ranked.score, ranked.founder_index) ORDER BY entry.rank)
    FROM tournaments_leaderboardentry entry JOIN tournaments_agent ranked ON ranked.id = entry.agent_id
    WHERE entry.tournament_id = tournament.id
)"""
"""What a statement that reads a `tournament` has for `entries_found`."""

_PRESENT = rows.Query(
    """
    SELECT {entry}, {agent}
    FROM tournaments_leaderboardentry entry JOIN tournaments_agent agent ON agent.id = entry.agent_id
    WHERE entry.tournament_id = %s ORDER BY entry.rank
    """,
    entry=LeaderboardEntry,
    agent=(Agent, ("id", "index", "name", "color", "returns")),
)


_STORE = """
    WITH dropped AS (DELETE FROM tournaments_leaderboardentry WHERE tournament_id = %s AND agent_id <> ALL(%s))
    INSERT INTO tournaments_leaderboardentry (tournament_id, agent_id, rank, rank_change, beats_next)
    SELECT %s::bigint, * FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::float8[])
    ON CONFLICT (agent_id) DO UPDATE
    SET rank = excluded.rank, rank_change = excluded.rank_change, beats_next = excluded.beats_next
"""


def entries_found(tournament: Tournament, found: str | None) -> None:
    """Have the tournament know its leaderboard, as it was read with it, as far as it decides who enters."""
    read = json.loads(found or "[]")
    tournament.entries = [leaderboard.Entry(index, float(score), founder) for index, score, founder in read]


def bar_of(tournament: Tournament, agent: Agent) -> float | None:
    """The highest score with which the agent would not enter, None while it would with any."""
    spec = tournament.parsed_spec.leaderboard
    return updater.bar(
        tournament.entries, agent.index, agent.founder_index, size=spec.size, max_per_ancestor=spec.max_per_ancestor
    )


def consider(tournament: Tournament, pod: Pod, agent: Agent) -> None:
    """Let the updater decide about a scored agent, store the leaderboard that follows, and say what happened.

    The agent is saved afterwards: it may be given a colour.
    """
    spec = tournament.parsed_spec.leaderboard
    entries, newcomer = tournament.entries, entry_of(agent)
    decision = updater.update(entries, newcomer, size=spec.size, max_per_ancestor=spec.max_per_ancestor)
    tournament.entries = [*decision.leaderboard]
    if agent.screening:
        first = replace(newcomer, score=agent.screening["score"])
        at_first = updater.update(entries, first, size=spec.size, max_per_ancestor=spec.max_per_ancestor)
        _count_reevaluation(tournament, changed=at_first.rank != decision.rank)
    if decision.rank == 1:
        tournament.best_history = bests_kept([*tournament.best_history, agent.score])
        tournament.since_best = 0
    elif tournament.best_history:
        tournament.since_best += 1
    if decision.rank is None:
        _say_refused(tournament, pod, agent, decision)
        return
    present = _present(tournament)
    if agent.color is None:
        agent.color = _free_color([row.agent for row in present])
    standing = _store(tournament, agent, present, decision.leaderboard)
    events.publish(tournament.pk, "leaderboard")
    staying = {row.agent_id for row in standing}
    dropped = [row.agent for row in present if row.agent_id not in staying]
    _say_entered(tournament, pod, agent, standing, decision.rank, dropped)


def bests_kept(history: Sequence[float | None]) -> list[float | None]:
    """The first new best score tells where it began, the latest how it goes; others go, so that the row stays small."""
    return [*history[:1], *history[1:][-MOST_BESTS:]]


def _present(tournament: Tournament) -> list[LeaderboardEntry]:
    """The leaderboard with its agents, the best first."""
    found = []
    for entry, agent in _PRESENT.all(tournament.pk):
        entry.agent = agent
        found.append(entry)
    return found


def _count_reevaluation(tournament: Tournament, *, changed: bool) -> None:
    tournament.reevaluations += 1
    tournament.reevaluations_changed += changed


def _store(
    tournament: Tournament,
    newcomer: Agent,
    present: list[LeaderboardEntry],
    order: tuple[leaderboard.Entry, ...],
) -> list[LeaderboardEntry]:
    """Write the rows of `order`; how sure an order is, is computed again only between new neighbours."""
    entry_of = {row.agent.index: row for row in present}
    entry_of[newcomer.index] = LeaderboardEntry(tournament=tournament, agent=newcomer)
    old_next = {row.agent.index: below.agent.index for row, below in pairwise(present)}
    kind = tournament.parsed_spec.leaderboard.score
    standing = [entry_of[entry.index] for entry in order]
    for rank, (row, below) in enumerate(zip(standing, [*standing[1:], None], strict=True), start=1):
        row.rank_change = row.rank - rank if row.pk else None
        row.rank = rank
        if below is None:
            row.beats_next = None
        elif old_next.get(row.agent.index) != below.agent.index:
            row.beats_next = statistics.probability_better(row.agent.returns, below.agent.returns, kind)
    columns = zip(*((row.agent_id, row.rank, row.rank_change, row.beats_next) for row in standing), strict=True)
    agents, ranks, changes, chances = map(list, columns)
    rows.execute(_STORE, [tournament.pk, agents, tournament.pk, agents, ranks, changes, chances])
    return standing


def _free_color(agents: list[Agent]) -> int:
    """The least used colour among `agents`, the first of equals."""
    used = [agent.color for agent in agents if agent.color is not None]
    return min(range(COLORS), key=lambda color: (used.count(color), color))


def _say_entered(
    tournament: Tournament, pod: Pod, agent: Agent, standing: list[LeaderboardEntry], rank: int, dropped: list[Agent]
) -> None:
    assert agent.score is not None
    below = standing[rank].agent.name if rank < len(standing) else None
    shown = sentences.score(agent.score, agent.score_low, agent.score_high)
    text = sentences.entered(
        agent.name,
        rank,
        shown + sentences.evaluated_again(_screened(agent)),
        below,
        standing[rank - 1].beats_next,
        told_descent(agent),
    )
    text += "".join(f" {one.name} drops off." for one in dropped)
    data = {**event_data.ended(pod, agent), **event_data.ranked(agent, rank, dropped)}
    events.record(tournament.pk, "agent_entered", text, agent=agent, pod=pod, data=data)


def _say_refused(tournament: Tournament, pod: Pod, agent: Agent, decision: updater.Update) -> None:
    # Whether a winner's schedule wins again is what a rerun is for.
    descends = told_descent(agent) if agent.strategy == "rerun" else ""
    text = sentences.rejected(agent.name, agent.score, decision, _screened(agent), descends)
    data = {**event_data.ended(pod, agent), **event_data.ranked(agent, None, [])}
    events.record(tournament.pk, "agent_rejected", text, agent=agent, pod=pod, data=data)


def _screened(agent: Agent) -> float | None:
    """Its score before it was evaluated again."""
    return agent.screening["score"] if agent.screening else None
