"""The generator initialises each new agent: by one of several strategies, mixed by weight."""

from collections.abc import Iterable
from random import Random

from podracer_core.spec import TournamentSpec
from podracer_core.tournament.leaderboard import ranked
from podracer_core.tournament.offspring import Offspring, Parent
from podracer_core.tournament.strategies import STRATEGIES, fresh_spread


def generate(
    spec: TournamentSpec, leaderboard: Iterable[Parent], index: int, *, env_steps_left: int | None = None
) -> Offspring:
    """The tournament's agent number `index`: the same for the same spec, leaderboard and index.

    A strategy for which the leaderboard has no parents is drawn again from the others. Where none is left the
    agent is fresh, whatever weight that has: the first agents have nobody to come from. `env_steps_left`: what the
    tournament's budget leaves to this agent; a schedule that does not fit is not run again.
    """
    rng = agent_rng(spec, index)
    order = in_order(leaderboard)
    weights = {name: weight for name, weight in spec.generator.strategies.items() if weight > 0}
    while weights:
        name = rng.choices(list(weights), list(weights.values()))[0]
        if name == "fresh":
            break
        offspring = STRATEGIES[name](spec, _candidates(name, order, env_steps_left), rng)
        if offspring:
            return offspring
        del weights[name]
    return fresh_spread(spec, index, rng)


def agent_rng(spec: TournamentSpec, index: int) -> Random:
    """Decides all about the agent number `index`."""
    return Random(f"{spec.seed}/{index}")


def in_order(parents: Iterable[Parent]) -> list[Parent]:
    """The valid ones, the best first."""
    by_index = {parent.entry.index: parent for parent in parents}
    return [by_index[entry.index] for entry in ranked(parent.entry for parent in by_index.values())]


def _candidates(strategy: str, order: list[Parent], env_steps_left: int | None) -> list[Parent]:
    if strategy != "rerun" or env_steps_left is None:
        return order
    return [parent for parent in order if parent.total_env_steps <= env_steps_left]
