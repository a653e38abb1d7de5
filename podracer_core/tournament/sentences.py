"""What happened, in sentences with names, numbers and reasons. Pure functions of plain values."""

from collections.abc import Mapping
from typing import Any

from podracer_core.progress import Evaluation
from podracer_core.sentences import ordinal
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


def size(value: int) -> str:
    """Of a file, or of many."""
    for limit, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if value >= limit:
            return f"{value / limit:.1f} {unit}"
    return f"{max(1, round(value / 1e3))} kB" if value else "0 kB"


def certainty(probability: float) -> str:
    """A probability from a bootstrap, which never shows that something is certain."""
    return "over 99 %" if probability > 0.99 else f"{probability * 100:.0f} %"


def descent(
    strategy: str, parents: list[str], changes: Mapping[str, tuple[Any, Any]], scores: list[float | None]
) -> str:
    """From whom an agent comes, the parent that it continues first, and what was changed."""
    moved = ", ".join(f"{name} {setting(old)} → {setting(new)}" for name, (old, new) in changes.items())
    change = f" with {moved}" if moved else ", unchanged"
    if not parents:
        return "It started fresh."
    if strategy == "continue":
        return f"It continues {parents[0]}{change}."
    if strategy == "crossover":
        return f"It has the weights of {parents[0]}, crossed with {listed(parents[1:])}{change}."
    if strategy == "fuse":
        return f"It began as the mean of {listed(parents)}{change}."
    if strategy == "rerun":
        reached = "" if scores[0] is None else f", which scored {number(scores[0])}"
        return f"It ran the schedule of {parents[0]}{reached}, again from scratch."
    return f"It descends from {listed(parents)}{change}."


def listed(names: list[str]) -> str:
    """a, b and c"""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def began_anew(name: str, donor: str, reason: str, descends: str) -> str:
    return f"{name} could not start from {donor}, whose training state is lost ({reason.rstrip('.')}). {descends}"


def evaluated_again(first: float | None) -> str:
    """What the score of a newcomer was before it was evaluated again; nothing where it was not."""
    if first is None:
        return ""
    return f" (evaluated again on fresh seeds; {number(first)} at first)"


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


def rejected(
    name: str, value: float | None, decision: Update, screened: float | None = None, descends: str = ""
) -> str:
    """Why a scored agent does not enter the leaderboard.

    screened: its score before it was evaluated again; descends: `descent`, where that is what it was made to show
    """
    if decision.verdict is Verdict.INVALID:
        why = "it has no valid score"
    elif decision.verdict is Verdict.FAMILY_FULL:
        why = "its ancestor's share of the leaderboard is full of better agents"
    else:
        why = f"the last on the leaderboard has {number(decision.leaderboard[-1].score)}"
    shown = "nothing" if value is None else number(value)
    text = f"{name} scored {shown}{evaluated_again(screened)} and does not enter: {why}."
    return f"{text} {descends}" if descends else text


def confirmed(name: str, target: float, confirmation: Evaluation) -> tuple[str, str]:
    """The kind of event, and what the further episodes say of an agent that reached the target."""
    holds = confirmation.score >= target
    shown = score(confirmation.score, confirmation.score_low, confirmation.score_high)
    text = (
        f"{name} {'holds' if holds else 'misses'} the target of {number(target)}: "
        f"{shown} over {confirmation.episodes} further episodes."
    )
    return "target_confirmed" if holds else "target_missed", text


def ensemble_made(name: str, members: list[str], evaluation: Evaluation, best: float) -> str:
    """What several agents are worth as one policy. members: the best first, which alone has `best`"""
    span = f"{number(evaluation.score_low)} to {number(evaluation.score_high)}"
    return (
        f"{name}, an ensemble of {listed(members)}: {number(evaluation.score)} ({span}) over "
        f"{evaluation.episodes} episodes; its best member alone has {number(best)}."
    )


def ensemble_failed(name: str, members: list[str], reason: str) -> str:
    return f"{name}, an ensemble of {listed(members)}, could not be made: {reason}"


def no_ensemble(standing: int) -> str:
    """Why a tournament that should end with an ensemble has none."""
    there = "one agent is" if standing == 1 else "no agent is"
    return f"No ensemble was made: {there} on the leaderboard, and one needs at least two."


def sees_otherwise(first: str, first_frames: int, other: str, frames: int) -> str:
    """Why two agents make no ensemble."""
    return (
        f"{first} has a frame_stack of {first_frames} and {other} one of {frames}; "
        "the agents of an ensemble have to see the same."
    )


def moved(name: str, worker: str, env_steps: int) -> str:
    """Of a pod that saved its state and left its worker, for a pause or to go on elsewhere."""
    start = f"saved at step {env_steps:,}, from which it goes on" if env_steps else "and begins again"
    return f"Pod {name} left {worker or 'its worker'}, {start}."


def stopped(name: str, env_steps: int, reason: str) -> str:
    return f"Pod {name} stopped {f'at step {env_steps:,}' if env_steps else 'before it had trained'}: {reason}"


def retried(name: str, worker: str, env_steps: int) -> str:
    start = f"from step {env_steps:,}" if env_steps else "from its start"
    return f"Pod {name} was lost with {worker or 'its worker'}; it goes on {start}."
