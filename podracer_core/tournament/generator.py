"""The generator initialises each new agent: fresh from the search spaces, or from agents on the leaderboard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from podracer_core.hyperparameters import ARCHITECTURE, DISCOUNTS, Value, batch_problem
from podracer_core.search_space import SearchSpace
from podracer_core.spec import TournamentSpec
from podracer_core.tournament.leaderboard import Entry, ranked

PERTURB_PROBABILITY = 0.5
"""Each searched hyperparameter of an exploiting agent moves with this probability; one always does."""

DRAWS = 100
"""Draws after which a space that nearly never makes a batch is given up for its parent's or default values."""


@dataclass(frozen=True, slots=True)
class Parent:
    """What the generator needs to know of an agent that may be picked."""

    entry: Entry
    algorithm: str
    hyperparameters: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Offspring:
    """A new agent. `changes`: hyperparameter -> (its parent's value, its own), for those that differ."""

    strategy: str
    algorithm: str
    hyperparameters: dict[str, Value]
    seed: int
    parents: tuple[int, ...] = ()
    changes: Mapping[str, tuple[Value, Value]] | None = None


def generate(spec: TournamentSpec, leaderboard: Sequence[Parent], index: int) -> Offspring:
    """The tournament's agent number `index`: the same for the same spec, leaderboard and index."""
    rng = Random(f"{spec.seed}/{index}")
    parents = {parent.entry.index: parent for parent in leaderboard if parent.entry.valid}
    names = list(spec.generator.strategies)
    weights = [spec.generator.strategies[name] for name in names]
    strategy = rng.choices(names, weights)[0]
    if strategy == "exploit" and parents:
        order = ranked(parent.entry for parent in parents.values())
        return exploit(spec, parents[pick_by_rank(order, rng).index], rng)
    return fresh(spec, rng)


def fresh(spec: TournamentSpec, rng: Random) -> Offspring:
    """An agent of its own: everything drawn from its algorithm's spaces."""
    algorithm = rng.choice(spec.algorithms).name
    space = spec.search_space(algorithm)
    for _ in range(DRAWS):
        values = {name: part.sample(rng) for name, part in space.items()}
        if batch_problem(values, spec.num_envs(algorithm)) is None:
            break
    return Offspring("fresh", algorithm, values, draw_seed(rng))


def exploit(spec: TournamentSpec, parent: Parent, rng: Random) -> Offspring:
    """A child that inherits its parent's weights and optimizer and trains on with perturbed hyperparameters."""
    old = dict(parent.hyperparameters)
    space = spec.search_space(parent.algorithm)
    values = old
    for _ in range(DRAWS):
        values = perturbed(old, space, rng)
        if batch_problem(values, spec.num_envs(parent.algorithm)) is None:
            break
    else:
        values = old
    changes = {name: (old[name], value) for name, value in values.items() if value != old[name]}
    return Offspring("exploit", parent.algorithm, values, draw_seed(rng), (parent.entry.index,), changes)


def perturbed(old: Mapping[str, Value], space: Mapping[str, SearchSpace], rng: Random) -> dict[str, Value]:
    """`old` with some of its searched values moved within their spaces; what shapes the network stays."""
    searched = [name for name, part in space.items() if part.kind != "fixed" and name not in ARCHITECTURE]
    chosen = [name for name in searched if rng.random() < PERTURB_PROBABILITY]
    if searched and not chosen:
        chosen = [rng.choice(searched)]
    moved = {name: space[name].perturb(old[name], rng, discount=name in DISCOUNTS) for name in chosen}
    return {**old, **moved}


def pick_by_rank(order: Sequence[Entry], rng: Random) -> Entry:
    """One of the ranked entries; the first of n is n times as probable as the last (linear ranking, Baker 1985)."""
    return rng.choices(order, weights=range(len(order), 0, -1))[0]


def draw_seed(rng: Random) -> int:
    return rng.randrange(2**31)
