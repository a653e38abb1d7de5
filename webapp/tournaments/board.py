"""The leaderboard in the database: the updater's decision carried out, told and drawn upon by the generator.

Called with the tournament's row locked.
"""

from itertools import pairwise

from podracer_core.tournament import leaderboard, sentences, statistics, updater
from podracer_core.tournament.generator import Parent
from webapp.tournaments import events
from webapp.tournaments.models import Agent, LeaderboardEntry, Pod, Tournament

COLORS = 12
"""Chip colours that the pages have."""


def entry_of(agent: Agent) -> leaderboard.Entry:
    """The agent as the decisions see it."""
    return leaderboard.Entry(
        index=agent.index,
        score=float("nan") if agent.score is None else agent.score,
        founder=agent.founder_index,
        returns=tuple(agent.returns),
    )


def parents_available(tournament: Tournament) -> dict[int, tuple[Agent, Parent]]:
    """The agents on the leaderboard whose training state can be inherited, by index."""
    agents = Agent.objects.filter(tournament=tournament, entry__isnull=False).exclude(state_file="")
    return {agent.index: (agent, Parent(entry_of(agent), agent.algorithm, agent.hyperparameters)) for agent in agents}


def consider(tournament: Tournament, pod: Pod, agent: Agent) -> None:
    """Let the updater decide about a scored agent, store the leaderboard that follows, and say what happened."""
    spec = tournament.parsed_spec.leaderboard
    present = list(tournament.leaderboard.select_related("agent"))
    decision = updater.update(
        [entry_of(row.agent) for row in present],
        entry_of(agent),
        size=spec.size,
        max_per_ancestor=spec.max_per_ancestor,
    )
    if decision.rank is None:
        _say_refused(tournament, pod, agent, decision)
        return
    if agent.color is None:
        agent.color = _free_color([row.agent for row in present])
        agent.save(update_fields=["color"])
    rows = _store(tournament, agent, present, decision.leaderboard)
    events.publish(tournament.pk, "leaderboard")
    _say_entered(tournament, pod, agent, decision, rows)


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
    parents = list(agent.parents.values_list("name", flat=True))
    text = sentences.entered(
        agent.name,
        decision.rank,
        sentences.score(agent.score, agent.score_low, agent.score_high),
        below,
        rows[decision.rank - 1].beats_next,
        sentences.descent(agent.strategy, parents, agent.changes),
    )
    if decision.dropped:
        dropped = Agent.objects.get(tournament=tournament, index=decision.dropped.index)
        text += f" {dropped.name} drops off."
    events.record(tournament.pk, "agent_entered", text, agent=agent, pod=pod)
    if decision.rank == 1:
        tournament.best_history = [*tournament.best_history, agent.score]
        tournament.save(update_fields=["best_history"])


def _say_refused(tournament: Tournament, pod: Pod, agent: Agent, decision: updater.Update) -> None:
    text = sentences.rejected(agent.name, agent.score, decision)
    events.record(tournament.pk, "agent_rejected", text, agent=agent, pod=pod)
