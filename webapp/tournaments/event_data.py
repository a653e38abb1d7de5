"""What events say for programs, beside their sentences: docs/events.md lists it. Ids are strings, as in the API.

Every attempt of a pod ends in one event that names it, so that who trained what, and where, can be told from the
events alone.
"""

from typing import Any

from webapp.tournaments import lineage
from webapp.tournaments.models import Agent, Pod

Data = dict[str, Any]

_SEVERAL_PARENTS = ("crossover", "fuse", "rerun")
"""Strategies whose parents are others than whom the agent inherits from."""


def created(source: int | None) -> Data:
    """Which tournament this one runs again."""
    return {} if source is None else {"source": str(source)}


def attempt(pod: Pod) -> Data:
    """Which attempt ends and where it ran; nothing of a pod that waits in the queue."""
    return {"attempt": pod.attempt, "worker": pod.worker, "slot": pod.slot} if pod.worker else {}


def requeued(pod: Pod) -> Data:
    """An attempt that another follows, and the env step from which that goes on."""
    return {**attempt(pod), "goes_on_from": pod.state_env_steps}


def ended(pod: Pod, agent: Agent) -> Data:
    """The attempt with which a pod has ended, if one was under way, and whom it trained."""
    return {**attempt(pod), "env_steps": pod.env_steps, **descent(agent)}


def descent(agent: Agent) -> Data:
    """From whom an agent comes. parents: the one first whose weights it has"""
    first = agent.inherits_from_id
    if agent.strategy in _SEVERAL_PARENTS:
        keys = [parent.pk for parent in lineage.heir_order(agent, lineage.parents_of(agent))]
    else:
        keys = [first] if first else []
    return {
        "index": agent.index,
        "strategy": agent.strategy,
        "parents": list(map(str, keys)),
        "inherits_from": str(first) if first else None,
    }


def ranked(agent: Agent, rank: int | None, dropped: list[Agent]) -> Data:
    """What the updater decided. rank: None where the agent does not enter"""
    return {"score": agent.score, "rank": rank, "dropped": [str(one.pk) for one in dropped]}
