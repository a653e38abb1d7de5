"""Who is made next, and when: what each mode asks of the tournament so far.

asynchronous       as many agents as there is room for, at any time, by the generator's strategies
random_search      the same, every one fresh
successive_halving the same: the best of a rung not promoted yet that is among its top 1 / reduction_factor trains on
                   to the next rung, else a fresh agent enters the lowest (ASHA, Li et al. 2020, arXiv 1810.05934)
generational       a whole generation at once, when all of the last have ended: its best go on, copies of them with
                   perturbed hyperparameters replace the rest; with `pods_per_agent` each agent is trained by so many
                   pods whose results are averaged (FinRL-Podracer, Li et al. 2021, arXiv 2111.05188)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from podracer_core.spec import TournamentSpec
from podracer_core.tournament.generator import agent_rng, generate, in_order
from podracer_core.tournament.offspring import Offspring, Parent
from podracer_core.tournament.strategies import fresh, perturbed_child, unchanged_child


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of successive halving, as far as a promotion asks.

    scored: its agents with a valid score, those promoted included
    candidate: the best of these that is not promoted and can be inherited from, if any
    cut: the score of the last of its best `scored` / reduction_factor, rounded down; None while there are none
    """

    scored: int
    candidate: Parent | None = None
    cut: float | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """What a mode may look at. The functions are asked only by modes that need their answer.

    leaderboard: agents whose training state can be inherited
    generation: `ranked_teams` of those of the latest generation that can be inherited from, and its number; -1 before
        the first
    rungs: the lowest first
    """

    leaderboard: Callable[[], Sequence[Parent]]
    generation: Callable[[], tuple[Sequence[Sequence[Parent]], int]]
    rungs: Callable[[], Sequence[Rung]]


@dataclass(frozen=True, slots=True)
class Place:
    """Which of the agents that are made together: number `position` of `size`, with what the budget leaves for it."""

    position: int = 0
    size: int = 1
    env_steps_left: int | None = None


def room(spec: TournamentSpec, *, pool_size: int, active: int) -> int:
    """How many agents may be made now; a generation waits until the last has ended."""
    if spec.generator.mode != "generational":
        return max(0, pool_size - active)
    if active:
        return 0
    # Whole agents, where one fits: what is left over stays empty.
    return pool_size // spec.generator.pods_per_agent * spec.generator.pods_per_agent or pool_size


def env_steps_left(spec: TournamentSpec, pods_to_come: int, taken: int) -> int | None:
    """The most that the next of `pods_to_come` new pods may train; None = no limit.

    A tournament's budget of which `taken` are spent or promised is shared out among them where it is too short for
    whole rounds, so that the last pods are scored as well.
    """
    if spec.stop.env_steps is None:
        return None
    left = max(0, spec.stop.env_steps - taken)
    others = (pods_to_come - 1) * (spec.round.env_steps or left)
    return max(-(-left // pods_to_come), left - others)


def next_agent(spec: TournamentSpec, past: Past, index: int, place: Place) -> Offspring:
    """The tournament's agent number `index`: the same for the same arguments."""
    mode, rng = spec.generator.mode, agent_rng(spec, index)
    if mode == "random_search":
        return fresh(spec, (), rng)
    if mode == "successive_halving":
        return promoted(spec, past.rungs(), rng)
    if mode == "generational":
        teams, stage = past.generation()
        return generation_member(spec, teams, stage + 1, place, index)
    return generate(spec, past.leaderboard(), index, env_steps_left=place.env_steps_left)


# Successive halving


def promoted(spec: TournamentSpec, rungs: Sequence[Rung], rng: Random) -> Offspring:
    """The next job of ASHA (algorithm 2 there): a promotion from the highest rung that allows one, or a fresh agent.

    Rung k has trained reduction_factor^k rounds in all; a promoted agent trains the difference, unperturbed.
    """
    factor = spec.generator.reduction_factor
    for level in range(min(len(rungs), spec.generator.rungs - 1) - 1, -1, -1):
        rung = rungs[level]
        if rung.candidate is not None and rung.cut is not None and rung.candidate.entry.score >= rung.cut:
            best = f"one of the best {rung.scored // factor:,} of {rung.scored:,}"
            origin = f"Promoted from rung {level}, {best}, to rung {level + 1}."
            child = unchanged_child(rung.candidate, rng, origin)
            return replace(child, rounds=factor ** (level + 1) - factor**level, stage=level + 1)
    return fresh(spec, (), rng)


def cut_of(scores: Sequence[float], factor: int) -> float | None:
    """`Rung.cut` of a rung's scores, the worst first."""
    best = len(scores) // factor
    return scores[-best] if best else None


# Generations


def generation_member(
    spec: TournamentSpec, teams: Sequence[Sequence[Parent]], stage: int, place: Place, index: int
) -> Offspring:
    """One of the generation number `stage`, after the last one's `teams`, the best first.

    The agents of the first are all fresh, one pod each: networks of different random beginnings cannot be averaged.
    """
    rng, pods = agent_rng(spec, index), spec.generator.pods_per_agent
    if not teams:
        return replace(fresh(spec, (), rng), stage=stage, team=place.position)
    number = place.position // pods
    survivors = min(len(teams), math.ceil(max(1, place.size // pods) * spec.generator.survivors))
    rank = number % survivors
    team = teams[rank]
    origin = f"Generation {stage}: rank {rank + 1} of {len(teams)} at the barrier "
    if number < survivors:
        child = unchanged_child(team[0], rng, origin + "goes on.")
    else:
        # Pods of one agent share its perturbation, so that what they learn can be averaged as one agent.
        shared = agent_rng(spec, index - place.position % pods)
        child = replace(
            perturbed_child(spec, team[0], shared, "exploit", origin + "replaces a worse one."),
            seed=rng.randrange(2**31),
        )
    if len(team) > 1:
        indices = tuple(parent.entry.index for parent in team)
        child = replace(child, strategy="fuse", parents=indices, inherits=indices)
    return replace(child, stage=stage, team=number)


def ranked_teams(members: Sequence[Parent]) -> list[list[Parent]]:
    """Agents that share a team, best agent first, by their mean score; of equals the team with the eldest member."""
    teams: dict[int, list[Parent]] = {}
    for parent in in_order(members):
        teams.setdefault(parent.team, []).append(parent)

    def key(team: list[Parent]) -> tuple[float, int]:
        scores = [parent.entry.score for parent in team]
        return -math.fsum(score / len(scores) for score in scores), min(parent.entry.index for parent in team)

    return sorted(teams.values(), key=key)
