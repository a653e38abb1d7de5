"""The leaderboard without a server: the updater's decision carried out and told."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from podracer_core.local.population import told_descent
from podracer_core.local.records import AgentRecord, BoardRow, TournamentRecord
from podracer_core.spec import TournamentSpec
from podracer_core.tournament import sentences, statistics, updater


def consider(
    spec: TournamentSpec, agents: Mapping[int, AgentRecord], tournament: TournamentRecord, agent: AgentRecord
) -> updater.Update:
    """Lets the updater decide about a scored agent; `tournament` has the leaderboard that follows."""
    present = [agents[row.agent].entry for row in tournament.leaderboard]
    size, share = spec.leaderboard.size, spec.leaderboard.max_per_ancestor
    decision = updater.update(present, agent.entry, size=size, max_per_ancestor=share)
    if agent.screening:
        first = replace(agent.entry, score=agent.screening["score"])
        at_first = updater.update(present, first, size=size, max_per_ancestor=share)
        tournament.reevaluations += 1
        tournament.reevaluations_changed += at_first.rank != decision.rank
    if decision.rank is not None:
        tournament.leaderboard = _rows(tournament.leaderboard, decision, spec.leaderboard.score)
        if decision.rank == 1:
            tournament.best_history.append(agent.entry.score)
    return decision


def _rows(present: list[BoardRow], decision: updater.Update, kind: str) -> list[BoardRow]:
    """The rows in their new order; how sure an order is, is computed again only between new neighbours."""
    old = {row.agent: (rank, row) for rank, row in enumerate(present)}
    old_next = {row.agent: below.agent for row, below in pairwise(present)}
    rows = []
    for rank, (entry, below) in enumerate(zip(decision.leaderboard, [*decision.leaderboard[1:], None], strict=True)):
        before, row = old.get(entry.index, (None, None))
        if below is None:
            beats = None
        elif row and old_next.get(entry.index) == below.index:
            beats = row.beats_next
        else:
            beats = statistics.probability_better(entry.returns, below.returns, kind)
        rows.append(BoardRow(entry.index, None if before is None else before - rank, beats))
    return rows


def news(
    agents: Mapping[int, AgentRecord], tournament: TournamentRecord, agent: AgentRecord, decision: updater.Update
) -> tuple[str, str]:
    """The kind of event, and the sentence that says what the decision was and why."""
    if decision.rank is None:
        # Whether a winner's schedule wins again is what a rerun is for.
        descends = told_descent(agent, agents) if agent.strategy == "rerun" else ""
        return "agent_rejected", sentences.rejected(agent.name, agent.score, decision, _screened(agent), descends)
    rows = tournament.leaderboard
    shown = sentences.score(agent.entry.score, agent.score_low, agent.score_high)
    text = sentences.entered(
        agent.name,
        decision.rank,
        shown + sentences.evaluated_again(_screened(agent)),
        agents[rows[decision.rank].agent].name if decision.rank < len(rows) else None,
        rows[decision.rank - 1].beats_next,
        told_descent(agent, agents),
    )
    if decision.dropped:
        text += f" {agents[decision.dropped.index].name} drops off."
    return "agent_entered", text


def _screened(agent: AgentRecord) -> float | None:
    """Its score before it was evaluated again."""
    return agent.screening["score"] if agent.screening else None


def bar_of(
    spec: TournamentSpec, agents: Mapping[int, AgentRecord], tournament: TournamentRecord, agent: AgentRecord
) -> float | None:
    """The highest score with which the agent would not enter, None while it would with any."""
    present = [agents[row.agent].entry for row in tournament.leaderboard]
    size, share = spec.leaderboard.size, spec.leaderboard.max_per_ancestor
    return updater.bar(present, agent.index, agent.founder, size=size, max_per_ancestor=share)
