"""What happened, in sentences with names, numbers and reasons. Pure functions of plain values."""

from collections.abc import Mapping
from typing import Any

from podracer_core.progress import Evaluation
from podracer_core.tournament.updater import Update, Verdict


def number(value: float) -> str:
    """A score as people read it: thousands with commas, small ones with two decimals at most, a real minus sign."""
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}".rstrip("0").rstrip(".")
    return text.replace("-", "\N{MINUS SIGN}") if text.strip("-0.") else "0"


def setting(value: Any) -> str:
    """A hyperparameter's value, three figures at most."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1e}".replace("e-0", "e-") if value and abs(value) < 1e-2 else f"{value:.3g}"


def score(value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return number(value)
    return f"{number(value)} ± {number((high - low) / 2)}"


def certainty(probability: float) -> str:
    """A probability from a bootstrap, which never shows that something is certain."""
    return "over 99 %" if probability > 0.99 else f"{probability * 100:.0f} %"


def ordinal(rank: int) -> str:
    suffix = "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{suffix}"


def descent(strategy: str, parents: list[str], changes: Mapping[str, tuple[Any, Any]] | None) -> str:
    """From whom an agent comes and what was changed."""
    if not parents:
        return "It started fresh."
    moved = ", ".join(f"{name} {setting(old)} → {setting(new)}" for name, (old, new) in (changes or {}).items())
    return f"It descends from {' and '.join(parents)}{' with ' + moved if moved else ', unchanged'}."


def entered(
    name: str, rank: int, score_text: str, displaced: str | None, beats_next: float | None, descends: str
) -> str:
    """Who came in where, before whom, how sure that is, and from whom it descends."""
    place = (
        f"takes {ordinal(rank)}{f' from {displaced}' if displaced else ''}" if rank <= 3 else f"enters {ordinal(rank)}"
    )
    sure = ""
    if displaced and beats_next is not None:
        sure = f", better than {displaced} with {certainty(beats_next)} certainty"
    return f"{name} {place}: {score_text}{sure}. {descends}"


def rejected(name: str, value: float | None, decision: Update) -> str:
    """Why a scored agent does not enter the leaderboard."""
    if decision.verdict is Verdict.INVALID:
        why = "it has no valid score"
    elif decision.verdict is Verdict.FAMILY_FULL:
        why = "its ancestor's share of the leaderboard is full of better agents"
    else:
        why = f"the last on the leaderboard has {number(decision.leaderboard[-1].score)}"
    shown = "nothing" if value is None else number(value)
    return f"{name} scored {shown} and does not enter: {why}."


def confirmed(name: str, target: float, confirmation: Evaluation) -> tuple[str, str]:
    """The kind of event, and what the further episodes say of an agent that reached the target."""
    holds = confirmation.score >= target
    shown = score(confirmation.score, confirmation.score_low, confirmation.score_high)
    text = (
        f"{name} {'holds' if holds else 'misses'} the target of {number(target)}: "
        f"{shown} over {confirmation.episodes} further episodes."
    )
    return "target_confirmed" if holds else "target_missed", text


def retried(name: str, worker: str, env_steps: int) -> str:
    start = f"from step {env_steps:,}" if env_steps else "from its start"
    return f"Pod {name} was lost with {worker or 'its worker'}; it goes on {start}."
