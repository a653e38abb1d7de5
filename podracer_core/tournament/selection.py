"""How a parent is picked from the leaderboard. Better agents are likelier, none is certain."""

import math
from collections.abc import Sequence
from random import Random
from statistics import pstdev

from podracer_core.spec import GeneratorSpec
from podracer_core.tournament.offspring import Parent


def unpassed(order: Sequence[Parent]) -> list[Parent]:
    """Of `order`, which is ranked, those that no relative passed by longer training: the heads of each family.

    What the others began, their relatives carry on with more success; an heir of theirs would train it again.
    """
    heads, longest = [], dict[int, int]()
    for parent in order:
        founder = parent.entry.founder
        if parent.total_env_steps >= longest.get(founder, 0):
            heads.append(parent)
            longest[founder] = parent.total_env_steps
    return heads


def pick(order: Sequence[Parent], spec: GeneratorSpec, rng: Random) -> Parent:
    """One of `order`, which is ranked, the best first, by `spec.parent_selection`."""
    if spec.parent_selection == "softmax":
        return pick_by_softmax(order, spec.temperature, rng)
    if spec.parent_selection == "tournament":
        return pick_by_tournament(order, spec.tournament_size, rng)
    return pick_by_rank(order, rng)


def pick_by_rank(order: Sequence[Parent], rng: Random) -> Parent:
    """The first of n is n times as probable as the last (linear ranking, Baker 1985)."""
    return rng.choices(order, weights=range(len(order), 0, -1))[0]


def pick_by_softmax(order: Sequence[Parent], temperature: float, rng: Random) -> Parent:
    """Probable as exp(score / (temperature x deviation of the scores)), whatever the unit of a return is.

    All alike where all scores are equal.
    """
    scores = [parent.entry.score for parent in order]
    scale = temperature * _deviation(scores)
    best = scores[0]
    weights = [math.exp((score - best) / scale) if scale > 0 else 1.0 for score in scores]
    return rng.choices(order, weights)[0]


def pick_by_tournament(order: Sequence[Parent], size: int, rng: Random) -> Parent:
    """The best of `size` drawn with replacement (k-way tournament selection, Goldberg and Deb 1991)."""
    return order[min(rng.randrange(len(order)) for _ in range(size))]


def _deviation(scores: Sequence[float]) -> float:
    """0 also where squares of huge scores overflow: then nothing tells them apart but their rank."""
    try:
        deviation = pstdev(scores)
    except OverflowError:
        return 0.0
    return deviation if math.isfinite(deviation) else 0.0
