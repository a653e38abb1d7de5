"""Specifications and parents that several tests use."""

from random import Random
from typing import Any

from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.offspring import Offspring, Parent
from podracer_core.tournament.strategies import fresh, spaces

SPACE: dict[str, Any] = {
    "learning_rate": {"loguniform": [1e-5, 1e-2]},
    "gamma": {"uniform": [0.9, 0.999]},
    "num_steps": {"choice": [16, 32, 64]},
    "num_minibatches": {"int": [1, 16]},
    "num_epochs": {"choice": [2, 4, 8]},
    "hidden_size": {"choice": [16, 32]},
    "num_layers": {"int": [1, 2]},
    "activation": {"choice": ["tanh", "relu"]},
    "norm_obs": {"choice": [True, False]},
    "norm_adv": {"choice": [True, False]},
    "ent_coef": {"uniform": [0.0, 0.02]},
    "num_envs": {"choice": [8, 16, 32]},
}


def made(strategies: dict[str, float] | None = None, space: Any = None, **parts: Any) -> TournamentSpec:
    generator = {"strategies": strategies or {"fresh": 0.5, "exploit": 0.5}} | parts.pop("generator", {})
    return spec_parse(
        {
            "env_id": "CartPole-v1",
            "algorithms": [{"name": "ppo", "search_space": SPACE if space is None else space}],
            "generator": generator,
            **parts,
        }
    )


def parent_of(offspring: Offspring, index: int, score: float = 0.0, founder: int | None = None, **rest: Any) -> Parent:
    """The agent that an offspring became."""
    entry = Entry(index, score, index if founder is None else founder)
    return Parent(entry, offspring.algorithm, offspring.hyperparameters, offspring.num_envs, 1000, **rest)


def board(spec: TournamentSpec, size: int = 3, families: int = 1000) -> list[Parent]:
    """Fresh agents, the first the best; those of one family have its founder's architecture."""
    founders = [fresh(spec, (), Random(index)) for index in range(size)]
    return [parent_of(founders[index % families], index, float(-index), index % families) for index in range(size)]


def inside(spec: TournamentSpec, offspring: Offspring) -> bool:
    """Whether every value is one that its space could have given."""
    values = {**offspring.hyperparameters, "num_envs": offspring.num_envs}
    for name, space in spaces(spec, offspring.algorithm).items():
        value = values[name]
        if space.kind in ("fixed", "choice"):
            if value not in space.values:
                return False
        elif not space.values[0] <= value <= space.values[1]:
            return False
    return True
