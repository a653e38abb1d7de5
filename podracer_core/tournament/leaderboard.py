"""The leaderboard: the best agents of a tournament in their order."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One agent as the decisions see it.

    index: its number in the tournament, in the order of creation
    founder: index of the fresh agent that it descends from; its own for a fresh one
    returns: of its evaluation episodes
    """

    index: int
    score: float
    founder: int
    returns: tuple[float, ...] = ()

    @property
    def valid(self) -> bool:
        """A diverged or unscored agent is no entry and no parent."""
        return math.isfinite(self.score)


def ranked(entries: Iterable[Entry]) -> list[Entry]:
    """The valid ones by score, best first. Of two equal scores the elder agent goes first: it was there before."""
    return sorted((entry for entry in entries if entry.valid), key=place)


def place(entry: Entry) -> tuple[float, int]:
    """What entries are ordered by."""
    return -entry.score, entry.index
