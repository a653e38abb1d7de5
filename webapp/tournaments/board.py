"""The leaderboard in the database: the updater's decision carried out and told.

Called with the tournament's row locked.
"""

from dataclasses import replace
from itertools import pairwise

from podracer_core.tournament import leaderboard, sentences, statistics, updater
from webapp.tournaments import events
from webapp.tournaments.models import Agent, LeaderboardEntry, Pod, Tournament
from webapp.tournaments.population import entry_of, told_descent

COLORS = 12
"""Chip colours that the pages have."""


def bar_of(tournament: Tournament, agent: Agent) -> float | None:
    """The highest score with which the agent would not enter, None while it would with any."""
    spec = tournament.parsed_spec.leaderboard
    rows = tournament.leaderboard.values_list("agent__index", "agent__score", "agent__founder_index")
    present = [leaderboard.Entry(index, score, founder) for index, score, founder in rows if score is not None]
    return updater.bar(
        present, agent.index, agent.founder_index, size=spec.size, max_per_ancestor=spec.max_per_ancestor
    )


def consider(tournament: Tournament, pod: Pod, agent: Agent) -> None:
    """Let the updater decide about a scored agent, store the leaderboard that follows, and say what happened."""
    spec = tournament.parsed_spec.leaderboard
    present = list(tournament.leaderboard.select_related("agent"))
    entries, newcomer = [entry_of(row.agent) for row in present], entry_of(agent)
    decision = updater.update(entries, newcomer, size=spec.size, max_per_ancestor=spec.max_per_ancestor)
    if agent.screening:
        first = replace(newcomer, score=agent.screening["score"])
        at_first = updater.update(entries, first, size=spec.size, max_per_ancestor=spec.max_per_ancestor)
        _count_reevaluation(tournament, changed=at_first.rank != decision.rank)
    if decision.rank is None:
        _say_refused(tournament, pod, agent, decision)
        return
    if agent.color is None:
        agent.color = _free_color([row.agent for row in present])
        agent.save(update_fields=["color"])
    rows = _store(tournament, agent, present, decision.leaderboard)
    events.publish(tournament.pk, "leaderboard")
    _say_entered(tournament, pod, agent, decision, rows)


def _count_reevaluation(tournament: Tournament, *, changed: bool) -> None:
    tournament.reevaluations += 1
    tournament.reevaluations_changed += changed
    tournament.save(update_fields=["reevaluations", "reevaluations_changed"])


def _store(
    tournament: Tournament,
    newcomer: Agent,
    present: list[LeaderboardEntry],
    order: tuple[leaderboard.Entry, ...],
) -> list[LeaderboardEntry]:
    """Write the rows of `order`; how sure an order is, is computed again only between new neighbours."""
    old = {row.agent.index: row for row in present}
    old_next = {row.agent.index: below.agent.index for row, below in pairwise(present)}
    kind = tournament.parsed_spec.leaderboard.score
    rows, moved = [], []
    for rank, entry in enumerate(order, start=1):
        row = old.get(entry.index) or LeaderboardEntry(tournament=tournament, agent=newcomer)
        before = (row.rank, row.rank_change, row.beats_next)
        row.rank_change = row.rank - rank if row.pk else None
        row.rank = rank
        below = order[rank] if rank < len(order) else None
        if below is None:
            row.beats_next = None
        elif old_next.get(entry.index) != below.index:
            row.beats_next = statistics.probability_better(entry.returns, below.returns, kind)
        rows.append(row)
        if row.pk and before != (row.rank, row.rank_change, row.beats_next):
            moved.append(row)
    kept = [row.pk for row in rows if row.pk]
    tournament.leaderboard.exclude(pk__in=kept).delete()
    if moved:
        LeaderboardEntry.objects.bulk_update(moved, ["rank", "rank_change", "beats_next"])
    LeaderboardEntry.objects.bulk_create([row for row in rows if not row.pk])
    return rows


def _free_color(agents: list[Agent]) -> int:
    """The least used colour among `agents`, the first of equals."""
    used = [agent.color for agent in agents if agent.color is not None]
    return min(range(COLORS), key=lambda color: (used.count(color), color))


def _say_entered(
    tournament: Tournament, pod: Pod, agent: Agent, decision: updater.Update, rows: list[LeaderboardEntry]
) -> None:
    assert decision.rank is not None
    assert agent.score is not None
    below = rows[decision.rank].agent.name if decision.rank < len(rows) else None
    shown = sentences.score(agent.score, agent.score_low, agent.score_high)
    text = sentences.entered(
        agent.name,
        decision.rank,
        shown + sentences.evaluated_again(_screened(agent)),
        below,
        rows[decision.rank - 1].beats_next,
        told_descent(agent),
    )
    if decision.dropped:
        dropped = Agent.objects.get(tournament=tournament, index=decision.dropped.index)
        text += f" {dropped.name} drops off."
    events.record(tournament.pk, "agent_entered", text, agent=agent, pod=pod)
    if decision.rank == 1:
        tournament.best_history = [*tournament.best_history, agent.score]
        tournament.save(update_fields=["best_history"])


def _say_refused(tournament: Tournament, pod: Pod, agent: Agent, decision: updater.Update) -> None:
    text = sentences.rejected(agent.name, agent.score, decision, _screened(agent))
    events.record(tournament.pk, "agent_rejected", text, agent=agent, pod=pod)


def _screened(agent: Agent) -> float | None:
    """Its score before it was evaluated again."""
    return agent.screening["score"] if agent.screening else None
