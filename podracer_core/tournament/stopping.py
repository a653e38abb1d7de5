"""When a tournament is over, and how far it has come."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from podracer_core.spec import StopSpec
from podracer_core.tournament.sentences import number


@dataclass(frozen=True, slots=True)
class Standing:
    """What the stop rules look at.

    pods: finished so far; env_steps: of pods that ended; promised: pods that have their env steps yet to train
    since_best: of those finished, how many since the best score was set
    confirmed_score: the best confirmed score, None before the first
    """

    pods: int
    env_steps: int
    seconds: float
    since_best: int
    confirmed_score: float | None
    promised: int = 0


def stop_reason(stop: StopSpec, standing: Standing) -> str | None:
    """The first stop rule that is met, as a sentence, or None."""
    confirmed = standing.confirmed_score
    if stop.score is not None and confirmed is not None and confirmed >= stop.score:
        return f"The target score of {number(stop.score)} was reached and confirmed at {number(confirmed)}."
    if stop.pods is not None and standing.pods >= stop.pods:
        return "Its one pod finished." if stop.pods == 1 else f"All {stop.pods:,} pods finished."
    if stop.env_steps is not None and standing.env_steps >= stop.env_steps and not standing.promised:
        return f"The budget of {stop.env_steps:,} env steps is used up."
    if stop.hours is not None and standing.seconds >= stop.hours * 3600:
        return f"The time of {stop.hours:g} hour{'' if stop.hours == 1 else 's'} is used up."
    if stop.patience is not None and standing.since_best >= stop.patience:
        return f"No new best score in {stop.patience:,} pods."
    return None


PATIENCE = 3
"""So many times as many failures in a row end a tournament when they are of several kinds."""


def failure_reason(reasons: Sequence[str | None], times: int) -> str | None:
    """As a sentence, that the last `times` pods that ended all failed for one reason, numbers in which may differ, or
    the last PATIENCE * `times` for whatever reasons; else None.

    reasons: why each pod that ended failed, in the order of ending, so many of the latest; None for one that finished
    """
    latest = reasons[-times:]
    if len(latest) < times or None in latest:
        return None
    if len({re.sub(r"-?\d[\d.,e+-]*", "#", reason or "") for reason in latest}) == 1:
        how = "One pod failed" if times == 1 else f"{times:,} pods in a row failed for the same reason"
        return f"{how}: {latest[-1]}"
    many = reasons[-PATIENCE * times :]
    if len(many) < PATIENCE * times or None in many:
        return None
    return f"{len(many):,} pods in a row failed, the last of them for this reason: {latest[-1]}"


def budget_progress(stop: StopSpec, standing: Standing, under_way: float = 0.0) -> float | None:
    """The used share of the tightest budget, 0 to 1, or None where nothing but a score or patience ends it.

    under_way: the shares that pods in training have of their rounds, summed up
    """
    shares = []
    if stop.pods is not None:
        shares.append((standing.pods + under_way) / stop.pods)
    if stop.env_steps is not None:
        shares.append(standing.env_steps / stop.env_steps)
    if stop.hours is not None:
        shares.append(standing.seconds / (stop.hours * 3600))
    return min(1.0, max(shares)) if shares else None


def target_progress(target: float | None, history: list[float]) -> float | None:
    """How near the best score is to the target, 0 to 1.

    Of a positive score its share of the target; below zero the share of the way from the first best score.
    """
    if target is None or not history:
        return None
    best, first = history[-1], history[0]
    if best >= target:
        return 1.0
    if target > 0 and first >= 0:
        return best / target
    return (best - first) / (target - first)
