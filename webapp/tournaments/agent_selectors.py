"""Reads of one agent or ensemble, as the API and its page show it."""

from webapp.tournaments.artefacts import ensemble_selectors
from webapp.tournaments.clock import iso
from webapp.tournaments.lineage import ancestry
from webapp.tournaments.models import Agent, PodLogLine
from webapp.tournaments.selectors import Item

LOG_LINES = 500


def files_of(agent_id: int) -> set[str]:
    """The storage names of all files of an agent that the database speaks of."""
    names = ("checkpoint_file", "state_file", "pod__state_file")
    return {name for row in Agent.objects.filter(pk=agent_id).values_list(*names) for name in row if name}


def agent_get(agent_id: int) -> Item:
    """One agent with its ancestry, the eldest first, and its pod's log, or an ensemble with its members.

    Raises Agent.DoesNotExist.
    """
    agent = Agent.every.select_related("tournament", "pod", "entry").get(pk=agent_id)
    entry = getattr(agent, "entry", None)
    return {
        "id": str(agent.pk),
        "kind": agent.kind,
        "name": agent.name,
        "tournament": str(agent.tournament_id),
        "tournament_name": agent.tournament.name,
        "env_id": agent.tournament.env_id,
        "algorithm": agent.algorithm,
        "color": agent.color,
        "hyperparameters": agent.hyperparameters,
        "seed": agent.seed,
        "strategy": agent.strategy,
        "origin": agent.origin,
        "changes": agent.changes,
        "parents": [{"id": str(parent.pk), "name": parent.name} for parent in agent.parents.all()],
        "ancestry": _ancestors(agent),
        "rank": entry.rank if entry else None,
        "score": agent.score,
        "score_low": agent.score_low,
        "score_high": agent.score_high,
        "mean": agent.mean,
        "iqm": agent.iqm,
        "episodes": len(agent.returns),
        "returns": agent.returns,
        "confirmation": agent.confirmation,
        "screening": agent.screening,
        "checkpoint": _checkpoint(agent),
        **(_of_ensemble(agent) if agent.kind == Agent.Kind.ENSEMBLE else _of_pod(agent)),
    }


def _of_pod(agent: Agent) -> Item:
    """What an agent has of its pod."""
    pod = agent.pod
    return {
        "num_envs": agent.envs,
        "status": pod.status,
        "reason": pod.reason,
        "env_steps": pod.env_steps,
        "total_env_steps": agent.base_env_steps + pod.env_steps,
        "seconds": pod.seconds,
        "pod": str(pod.pk),
        "log": _log(pod.pk),
        "members": [],
        "beats_best_member": None,
    }


def _of_ensemble(agent: Agent) -> Item:
    """What stands in its place: no pod has trained an ensemble."""
    making = ensemble_selectors.making(agent)
    return {
        "num_envs": None,
        "status": making["status"],
        "reason": making["reason"],
        "env_steps": 0,
        "total_env_steps": 0,
        "seconds": 0.0,
        "pod": None,
        "log": [],
        "members": ensemble_selectors.members(agent),
        "beats_best_member": ensemble_selectors.beats_best_member(agent),
    }


def ancestors_get(agent_id: int) -> list[Item]:
    """The line that an agent's weights come down, the eldest first, itself last. One that is not there has none."""
    return _ancestors(Agent(pk=agent_id))


def _ancestors(agent: Agent) -> list[Item]:
    return [
        {
            "id": str(member.pk),
            "name": member.name,
            "score": member.score,
            "strategy": member.strategy,
            "changes": member.changes,
        }
        for member in ancestry(agent, "name", "score", "strategy", "changes")
    ]


def _checkpoint(agent: Agent) -> Item | None:
    if not agent.checkpoint_file:
        return None
    return {
        "size": agent.checkpoint_size,
        "sha256": agent.checkpoint_sha256,
        "filename": f"{agent.tournament.env_id}-{agent.name}.safetensors".replace("/", "-"),
    }


def checkpoint_get(agent_id: int) -> Item | None:
    """Size, hash and filename of an agent's checkpoint and its `storage_name`; None where it has none.

    Raises Agent.DoesNotExist.
    """
    agent = Agent.every.select_related("tournament").get(pk=agent_id)
    found = _checkpoint(agent)
    return found and {**found, "storage_name": agent.checkpoint_file}


def _log(pod_id: int) -> list[Item]:
    """The last LOG_LINES lines, the eldest first."""
    rows = PodLogLine.objects.filter(pod_id=pod_id).order_by("-pk")[:LOG_LINES]
    return [{"at": iso(row.at), "level": row.level, "text": row.text} for row in reversed(rows)]
