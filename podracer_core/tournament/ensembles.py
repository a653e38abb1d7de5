"""Ensembles of a tournament: the best agents of its leaderboard as one policy. What is decided of them; no torch.

They stand beside the agents, not among them: no place on the leaderboard is taken by one, none is a parent, and no
stop rule, budget or patience counts them.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import TypeVar

from podracer_core.spec import TournamentSpec

FEWEST = 2
"""Members of an ensemble."""

Ranked = TypeVar("Ranked")


def ensemble_name(index: int) -> str:
    """Of ensemble number `index` of a tournament, counted from 0."""
    return f"ens-{index + 1}"


def evaluation_seed(spec: TournamentSpec, index: int) -> int:
    """Whose episodes no pod's evaluation has played."""
    return Random(f"{spec.seed}/ensemble/{index}").randrange(2**31)


def evaluation_episodes(spec: TournamentSpec) -> int:
    """As many as the score of its members comes from, which were evaluated again before they ranked."""
    return spec.leaderboard.eval_episodes * (2 if spec.leaderboard.reevaluate else 1)


def size_at_end(spec: TournamentSpec, standing: int) -> int:
    """How many of the `standing` agents a finished tournament makes one policy of; 0 where it makes none."""
    size = min(spec.leaderboard.ensemble, standing)
    return size if size >= FEWEST else 0


def placed(agents: Iterable[Ranked], ensembles: Iterable[Ranked], score: Callable[[Ranked], float]) -> list[Ranked]:
    """Both, best first, `agents` in the order that they have. Of equal scores agents go first, then elder ensembles."""
    rows = [(-score(row), 0, row) for row in agents] + [(-score(row), 1, row) for row in ensembles]
    return [row for *_, row in sorted(rows, key=lambda part: part[:2])]
