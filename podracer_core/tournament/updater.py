"""The updater decides whether and where a finished agent enters the leaderboard, and who drops off."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from podracer_core.tournament.leaderboard import Entry, ranked


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

    A family that is full makes room only by its own worst member.
    """
    before = tuple(ranked(leaderboard))
    if not candidate.valid:
        return Update(Verdict.INVALID, before)
    known = [entry.index for entry in before]
    if candidate.index in known:  # a result that came twice
        return Update(Verdict.ENTERS, before, known.index(candidate.index) + 1)
    after = ranked((*before, candidate))
    if len(after) > size and after[-1] == candidate:
        return Update(Verdict.TOO_LOW, before)
    family = [entry for entry in after if entry.founder == candidate.founder]
    if len(family) > family_limit(size, max_per_ancestor):
        worst, refusal = family[-1], Verdict.FAMILY_FULL
    elif len(after) > size:
        worst, refusal = after[-1], Verdict.TOO_LOW
    else:
        return Update(Verdict.ENTERS, tuple(after), after.index(candidate) + 1)
    if worst == candidate:
        return Update(refusal, before)
    after.remove(worst)
    return Update(Verdict.ENTERS, tuple(after), after.index(candidate) + 1, worst)


def bar(leaderboard: Sequence[Entry], index: int, founder: int, *, size: int, max_per_ancestor: float) -> float | None:
    """The highest score with which agent number `index` of this founder's line would not enter; None where any does.

    It never falls: who drops off is worse than all who stay.
    """
    order = ranked(leaderboard)
    family = [entry for entry in order if entry.founder == founder]
    in_the_way = order[-1:] if len(order) >= size else []
    if len(family) >= family_limit(size, max_per_ancestor):
        in_the_way.append(family[-1])
    # Of two equal scores the elder goes first, so that an elder enters with the same score.
    return max(
        (one.score if one.index < index else math.nextafter(one.score, -math.inf) for one in in_the_way), default=None
    )


def family_limit(size: int, max_per_ancestor: float) -> int:
    """How many of a leaderboard of `size` may descend from one fresh agent; at least one."""
    return max(1, math.ceil(size * max_per_ancestor - 1e-9))
