"""A whole tournament as one JSON document, written piece by piece so that a large one needs little memory.

    {"format": 1, "tournament": {...}, "leaderboard": [...], "agents": [{..., "curve": {...}}], "ensembles": [...],
     "events": [...]}

Parts have the shapes that the REST API gives them; every agent that ever was is in it, with its parents, its returns
and its complete curve, and events are in the order in which they happened.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from webapp.tournaments import lineage, selectors, strict_json
from webapp.tournaments.artefacts import ensemble_selectors
from webapp.tournaments.curves import curves
from webapp.tournaments.models import Agent

FORMAT = 1
BATCH = 50
"""Agents whose curves are in memory at once."""


def tournament_json(tournament_id: int) -> Iterator[str]:
    """Raises Tournament.DoesNotExist before the first piece."""
    tournament = selectors.tournament_get(tournament_id)
    return _pieces(tournament_id, tournament)


def _pieces(tournament_id: int, tournament: dict[str, Any]) -> Iterator[str]:
    leaderboard = selectors.leaderboard_list(tournament_id)["items"]
    yield f'{{"format":{FORMAT},"tournament":{strict_json.dumps(tournament)}'
    yield f',"leaderboard":{strict_json.dumps(leaderboard)},"agents":['
    yield from _listed(_agents(tournament_id))
    yield '],"ensembles":['
    yield from _listed(_ensemble(row) for row in ensemble_selectors.ensembles_of(tournament_id))
    yield '],"events":['
    yield from _listed(selectors.event_item(row) for row in _events(tournament_id))
    yield "]}\n"


def _listed(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    for number, item in enumerate(items):
        yield ("," if number else "") + strict_json.dumps(item)


def _agents(tournament_id: int) -> Iterator[dict[str, Any]]:
    agents = Agent.objects.filter(tournament_id=tournament_id).select_related("pod").prefetch_related("parents")
    rows = agents.order_by("index").iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        found = curves.curves_of([agent.pk for agent in batch])
        for agent in batch:
            yield _agent(agent) | {"curve": found.get(agent.pk, {})}


def _agent(agent: Agent) -> dict[str, Any]:
    return {
        "id": str(agent.pk),
        "index": agent.index,
        "name": agent.name,
        "algorithm": agent.algorithm,
        "hyperparameters": agent.hyperparameters,
        "num_envs": agent.envs,
        "seed": agent.seed,
        "strategy": agent.strategy,
        "origin": agent.origin,
        "changes": agent.changes,
        "parents": [str(parent.pk) for parent in agent.parents.all()],
        "founder_index": agent.founder_index,
        "depth": agent.depth,
        "status": agent.pod.status,
        "reason": agent.pod.reason,
        "attempt": agent.pod.attempt,
        "env_steps": agent.pod.env_steps,
        "base_env_steps": agent.base_env_steps,
        "seconds": agent.pod.seconds,
        "score": agent.score,
        "score_low": agent.score_low,
        "score_high": agent.score_high,
        "returns": agent.returns,
        "screening": agent.screening,
        "confirmation": agent.confirmation,
        "checkpoint_sha256": agent.checkpoint_sha256 or None,
    }


def _ensemble(agent: Agent) -> dict[str, Any]:
    making = ensemble_selectors.making(agent)
    return {
        "id": str(agent.pk),
        "index": agent.index,
        "name": agent.name,
        "members": [str(member.pk) for member in lineage.members(agent)],
        "seed": agent.seed,
        "status": making["status"],
        "reason": making["reason"],
        "score": agent.score,
        "score_low": agent.score_low,
        "score_high": agent.score_high,
        "returns": agent.returns,
        "checkpoint_sha256": agent.checkpoint_sha256 or None,
    }


def _events(tournament_id: int) -> Iterator[Any]:
    return selectors.event_rows(tournament_id).order_by("pk").iterator(1_000)
