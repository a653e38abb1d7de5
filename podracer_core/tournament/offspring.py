"""What the generator is told of agents, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from podracer_core.hyperparameters import Value
from podracer_core.tournament.leaderboard import Entry


@dataclass(frozen=True, slots=True)
class Parent:
    """What the generator needs to know of an agent that may be picked.

    total_env_steps: of all its line, its own included
    stage, team: its generation or rung and its team, see `Offspring`
    """

    entry: Entry
    algorithm: str
    hyperparameters: Mapping[str, Value]
    num_envs: int
    total_env_steps: int = 0
    stage: int = 0
    team: int = 0


@dataclass(frozen=True, slots=True)
class Offspring:
    """A new agent.

    parents: index of each agent that it comes from, the one whose line it continues first
    inherits: of these, whose weights, optimizer and normalisers it starts with; several are averaged
    changes: what differs from the first parent, hyperparameter or "num_envs" -> (the parent's value, its own)
    origin: why these parents, in a sentence; "" for a fresh agent
    rounds: how many rounds it trains; a rerun trains its parent's schedule instead
    stage: its generation or rung, 0 in modes that have none
    team: agents of one generation with the same number are fused at its end
    """

    strategy: str
    algorithm: str
    hyperparameters: dict[str, Value]
    num_envs: int
    seed: int
    parents: tuple[int, ...] = ()
    inherits: tuple[int, ...] = ()
    changes: Mapping[str, tuple[Value, Value]] = field(default_factory=dict)
    origin: str = ""
    rounds: int = 1
    stage: int = 0
    team: int = 0
