"""The updater decides whether and where a finished agent enters the leaderboard, and who drops off."""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from podracer_core.tournament.leaderboard import Entry, place


class Verdict(StrEnum):
    ENTERS = "enters"
    TOO_LOW = "too_low"  # the leaderboard is full of better agents
    FAMILY_FULL = "family_full"  # its ancestor's share is full of better agents
    INVALID = "invalid"  # no score


@dataclass(frozen=True, slots=True)
class Update:
    """The leaderboard after a candidate was considered.

    rank: 1-based place of the candidate, None when it does not enter
    dropped: who leaves, if anybody
    """

    verdict: Verdict
    leaderboard: tuple[Entry, ...]
    rank: int | None = None
    dropped: Entry | None = None


def update(leaderboard: Sequence[Entry], candidate: Entry, *, size: int, max_per_ancestor: float) -> Update:
    """Consider `candidate` for a leaderboard of at most `size`, of which one ancestor may hold a share.

    leaderboard: as the last update left it, the best first. A family that is full makes room only by its own worst.
    """
    before = tuple(leaderboard)
    if not candidate.valid:
        return Update(Verdict.INVALID, before)
    for rank, entry in enumerate(before, start=1):
        if entry.index == candidate.index:  # a result that came twice
            return Update(Verdict.ENTERS, before, rank)
    at = bisect.bisect_left(before, place(candidate), key=place)
    if at >= size:
        return Update(Verdict.TOO_LOW, before)
    after = [*before[:at], candidate, *before[at:]]
    family = [entry for entry in after if entry.founder == candidate.founder]
    if len(family) > family_limit(size, max_per_ancestor):
        worst = family[-1]
    elif len(after) > size:
        worst = after[-1]
    else:
        return Update(Verdict.ENTERS, tuple(after), at + 1)
    if worst is candidate:
        return Update(Verdict.FAMILY_FULL, before)
    after.remove(worst)
    return Update(Verdict.ENTERS, tuple(after), at + 1, worst)


def bar(leaderboard: Sequence[Entry], index: int, founder: int, *, size: int, max_per_ancestor: float) -> float | None:
    """The highest score with which agent number `index` of this founder's line would not enter; None where any does.

    It never falls: who drops off is worse than all who stay.
    """
    family = [entry for entry in leaderboard if entry.founder == founder]
    in_the_way = list(leaderboard[-1:]) if len(leaderboard) >= size else []
    if len(family) >= family_limit(size, max_per_ancestor):
        in_the_way.append(family[-1])
    # Of two equal scores the elder goes first, so that an elder enters with the same score.
    return max(
        (one.score if one.index < index else math.nextafter(one.score, -math.inf) for one in in_the_way), default=None
    )


def family_limit(size: int, max_per_ancestor: float) -> int:
    """How many of a leaderboard of `size` may descend from one fresh agent; at least one."""
    return max(1, math.ceil(size * max_per_ancestor - 1e-9))
