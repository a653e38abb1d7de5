"""Reads of ensembles: beside the agents on the leaderboard, while they are made, and on pages of their own."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db.models import Prefetch

from podracer_core.tournament import statistics
from podracer_core.tournament.ensembles import placed
from webapp.tournaments import lineage
from webapp.tournaments.models import Agent, Artefact, LeaderboardEntry, Tournament

Item = dict[str, Any]


def ensembles_of(tournament_id: int) -> list[Agent]:
    """In the order in which they were asked for, with their members and their making; in three queries."""
    makings = Prefetch("artefacts", Artefact.objects.filter(kind=Artefact.Kind.ENSEMBLE), "makings")
    rows = Agent.every.filter(tournament_id=tournament_id, kind=Agent.Kind.ENSEMBLE).select_related("tournament")
    return list(rows.order_by("index").prefetch_related("parents", makings))


def ensemble_list(tournament_id: int, *, limit: int = 100, offset: int = 0) -> Item:
    """The newest first, those that are being made or could not be included."""
    rows = ensembles_of(tournament_id)[::-1]
    return {"items": [_item(row) for row in rows[offset : offset + limit]], "count": len(rows)}


def ensemble_get(agent_id: int) -> Item:
    """One of them. Raises Agent.DoesNotExist."""
    return _item(Agent.every.select_related("tournament").get(pk=agent_id, kind=Agent.Kind.ENSEMBLE))


def unfinished(rows: Sequence[Agent]) -> list[Item]:
    """Of `ensembles_of` those that are being made or could not be."""
    return [_item(row) for row in rows if row.score is None]


def on_the_board(items: list[Item], rows: Sequence[Agent]) -> list[Item]:
    """`items`, the leaderboard's agents, and among them the ensembles of `rows`."""
    done = [row for row in rows if row.score is not None]
    following = {row.pk: _following(row, items) for row in done}
    below = Agent.objects.only("returns").in_bulk([agent for agent in following.values() if agent]) if done else {}
    listed = [_board_item(row, below.get(following[row.pk] or 0)) for row in done]
    return placed(items, listed, lambda item: float(item["score"]))


def made(rows: Sequence[Agent]) -> int:
    """How many of them the leaderboard lists."""
    return sum(row.score is not None for row in rows)


def _following(agent: Agent, items: list[Item]) -> int | None:
    """The agent that is listed next to an ensemble."""
    assert agent.score is not None
    below = (int(item["agent"]) for item in items if item["score"] is not None and item["score"] < agent.score)
    return next(below, None)


def _board_item(agent: Agent, below: Agent | None) -> Item:
    """below: who is listed next"""
    members = lineage.members(agent)
    return {
        "rank": None,
        "rank_change": None,
        "agent": str(agent.pk),
        "name": agent.name,
        "color": None,
        "kind": agent.kind,
        "algorithm": agent.algorithm,
        "score": agent.score,
        "score_low": agent.score_low,
        "score_high": agent.score_high,
        "episodes": len(agent.returns),
        "beats_next": None if below is None else _beats(agent, below, agent.tournament),
        "parents": [str(member.pk) for member in members],
        "parent_names": [member.name for member in members],
        "strategy": agent.strategy,
        "changes": {},
        "env_steps": agent.env_steps,
        "total_env_steps": agent.base_env_steps + agent.env_steps,
    }


def _beats(first: Agent, second: Agent, tournament: Tournament) -> float:
    kind = tournament.parsed_spec.leaderboard.score
    return _probability_better(tuple(first.returns), tuple(second.returns), kind)


@lru_cache(maxsize=512)
def _probability_better(first: tuple[float, ...], second: tuple[float, ...], kind: str) -> float:
    """Kept, since it is asked for whenever somebody looks and changes with a neighbour alone."""
    return statistics.probability_better(first, second, kind)


def _item(agent: Agent) -> Item:
    return {
        "agent": str(agent.pk),
        "name": agent.name,
        **making(agent),
        "members": [{"id": str(member.pk), "name": member.name} for member in lineage.members(agent)],
        "score": agent.score,
        "score_low": agent.score_low,
        "score_high": agent.score_high,
        "episodes": len(agent.returns),
    }


def making(agent: Agent) -> Item:
    """How far an ensemble is. One that was brought from elsewhere was made there."""
    rows = getattr(agent, "makings", None)
    if rows is None:
        rows = agent.artefacts.filter(kind=Artefact.Kind.ENSEMBLE)
    for row in rows:
        return {"status": row.status, "progress": row.progress, "reason": row.reason}
    return {"status": Artefact.Status.FINISHED, "progress": 1.0, "reason": ""}


def members(agent: Agent) -> list[Item]:
    """For its own page: the best first, with what each is worth alone, and its rank while it has one."""
    ranks = dict(LeaderboardEntry.objects.filter(agent__in=agent.parents.all()).values_list("agent", "rank"))
    return [
        {
            "id": str(member.pk),
            "name": member.name,
            "color": member.color,
            "algorithm": member.algorithm,
            "rank": ranks.get(member.pk),
            "score": member.score,
            "score_low": member.score_low,
            "score_high": member.score_high,
        }
        for member in lineage.members(agent)
    ]


def beats_best_member(agent: Agent) -> float | None:
    """How probable it is that the ensemble is better than the best of its members alone; None before it is made."""
    if agent.score is None:
        return None
    return _beats(agent, lineage.members(agent)[0], agent.tournament)
