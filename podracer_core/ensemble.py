"""Several agents as one policy, in one checkpoint that `load_agent` opens like any other.

Continuous actions are the mean of the members'. Of discrete ones the most probable by the mean of the members'
probabilities is taken, where all of them have such; where one has action values instead (DQN), each member votes.
Between equals the first member decides, which on a leaderboard is the best.

Tensors: a member's own, after `members.N.`; metadata: `network` has "members", a list of what differs between them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podracer_core.checkpoint import ENSEMBLE, save_agent
from podracer_core.errors import CheckpointError
from podracer_core.player import Agent, check_tensors
from podracer_core.tournament import sentences

Array = npt.NDArray[Any]

SHARED = ("env_id", "spaces", "env_kwargs", "wrappers")
"""What all members must have in common: they see the same and act in the same."""

OWN = ("algorithm", "hyperparameters", "network", "score", "lineage")

VALUED = frozenset({"dqn"})
"""Algorithms whose outputs are values, not logarithms of probabilities."""


class Ensemble(Agent):
    """members: the agents, the best first."""

    def __init__(self, tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
        self._describe(tensors, metadata)
        shared = {name: metadata[name] for name in SHARED if name in metadata}
        self.members = [
            Agent(_tensors_of(tensors, index), {**shared, **own})
            for index, own in enumerate(metadata["network"]["members"])
        ]
        self._votes = any(member.metadata["algorithm"] in VALUED for member in self.members)

    def decide(self, rows: Array) -> Array:
        space = self.action_space
        if space.kind == "box":
            return np.asarray(np.mean([member.decide(rows) for member in self.members], axis=0))
        choices = (space.action_dim,) if space.kind == "discrete" else space.choices
        splits = np.cumsum(choices)[:-1]
        outputs = [np.split(member.outputs(rows), splits, axis=1) for member in self.members]
        best = [self._agree(entry) for entry in zip(*outputs, strict=True)]
        return best[0] if space.kind == "discrete" else np.stack(best, axis=1)

    def _agree(self, outputs: Sequence[Array]) -> Array:
        """outputs: each member's for one choice, [batch, options]. Returns the option that is taken, [batch]."""
        firsts = outputs[0].argmax(1)
        weigh = _vote if self._votes else _probabilities
        weights = np.sum([weigh(out) for out in outputs], axis=0)
        best = weights.argmax(1)
        rows = np.arange(len(best))
        tie = np.isclose(weights[rows, firsts], weights[rows, best], rtol=0, atol=1e-9)
        return np.asarray(np.where(tie, firsts, best))


def _vote(out: Array) -> Array:
    return np.asarray(np.eye(out.shape[1])[out.argmax(1)])


def _probabilities(out: Array) -> Array:
    powers = np.exp(out.astype(np.float64) - out.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def _tensors_of(tensors: Mapping[str, Array], index: int) -> dict[str, Array]:
    prefix = f"members.{index}."
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def make_ensemble(agents: Sequence[Agent], lineage: Mapping[str, Any] | None = None) -> Ensemble:
    """One policy of `agents`, the best first; an ensemble among them brings its members.

    Raises CheckpointError where they are fewer than two, or do not see and do the same.
    """
    members = [member for agent in agents for member in (agent.members if isinstance(agent, Ensemble) else [agent])]
    if len(members) < 2:
        raise CheckpointError("An ensemble needs at least two agents.")
    first = members[0].metadata
    for index in range(1, len(members)):
        _check_shared(members, index)
    tensors = {
        f"members.{index}.{name}": tensor
        for index, member in enumerate(members)
        for name, tensor in member.tensors.items()
    }
    own = [{name: member.metadata.get(name) for name in OWN} for member in members]
    metadata = {
        **{name: first[name] for name in SHARED if name in first},
        "algorithm": ENSEMBLE,
        "hyperparameters": {},
        "network": {"members": own},
        "score": None,
        "lineage": dict(lineage or {"parents": [_name(member) for member in members], "strategy": ENSEMBLE}),
    }
    return Ensemble(tensors, metadata)


def _check_shared(members: Sequence[Agent], index: int) -> None:
    """Raises CheckpointError, naming what differs, where one does not see and do the same as the first."""
    pair = members[0], members[index]
    first, other = (member.metadata for member in pair)
    names = [_name(member) or f"agent {number}" for member, number in zip(pair, (1, index + 1), strict=True)]
    if first.get("env_id") != other.get("env_id"):
        raise CheckpointError(
            f"{names[0]} plays {first.get('env_id')} and {names[1]} {other.get('env_id')}; "
            "the agents of an ensemble have to play the same environment."
        )
    frames = [int((one.get("hyperparameters") or {}).get("frame_stack", 1)) for one in (first, other)]
    if frames[0] != frames[1]:
        raise CheckpointError(sentences.sees_otherwise(names[0], frames[0], names[1], frames[1]))
    if first.get("spaces") != other.get("spaces"):
        texts = [f"{one.observation_space.text} and acts in {one.action_space.text}" for one in pair]
        raise CheckpointError(
            f"{names[0]} observes {texts[0]}, {names[1]} {texts[1]}; the agents of an ensemble need the same spaces."
        )
    for name in SHARED:
        if first.get(name) != other.get(name):
            raise CheckpointError(
                f"The agents of an ensemble need the same {name}; got {first.get(name)!r} and {other.get(name)!r}."
            )


def _name(member: Agent) -> str | None:
    lineage = member.metadata.get("lineage") or {}
    return lineage.get("agent")


def read_ensemble(tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> Ensemble:
    """What `load_agent` found. Raises ValueError or KeyError unless every member is whole."""
    ensemble = Ensemble(tensors, metadata)
    if len(ensemble.members) < 2:
        raise ValueError("it has fewer than two members")
    for member in ensemble.members:
        check_tensors(member.tensors, member.metadata)
    return ensemble


def save_ensemble(ensemble: Ensemble, path: Path) -> None:
    """Raises OSError."""
    save_agent(path, ensemble.tensors, {"env_kwargs": {}, "wrappers": [], **ensemble.metadata})
