"""A specification in sentences, as a report tells it afterwards. Pure functions."""

from collections.abc import Sequence
from typing import Any

from podracer_core.search_space import SearchSpace
from podracer_core.spec import TournamentSpec
from podracer_core.tournament import sentences
from webapp.tournaments.form.summary import ends, round_told, search_told

SCORES = {
    "mean": "mean return",
    "iqm": "interquartile mean",
    "lower_bound": "lower bound of the mean return",
}

RANGES = ("uniform", "loguniform", "int")


def spec_words(spec: TournamentSpec) -> list[str]:
    """What was searched, how, what decided, and what ended it."""
    pods = f"{spec.pool.size:,} pod{'s' * (spec.pool.size != 1)} at once, each of {round_told(spec)}."
    return [search_told(spec, None), pods, _mode(spec), _leaderboard(spec), ends(spec)]


def _mode(spec: TournamentSpec) -> str:
    generator = spec.generator
    if generator.mode == "random_search":
        return "Random search: every agent starts fresh."
    if generator.mode == "successive_halving":
        return (
            f"Successive halving over {generator.rungs} rungs: one agent in {generator.reduction_factor} is promoted "
            "and trains on, others start fresh."
        )
    if generator.mode == "generational":
        return (
            f"By generations: the best go on, and copies of them with perturbed hyperparameters replace the worst "
            f"{generator.survivors * 100:.0f} %."
        )
    whole = sum(generator.strategies.values())
    shares = [f"{weight / whole * 100:.0f} % {name}" for name, weight in generator.strategies.items() if weight]
    return f"Asynchronous: a new agent whenever a slot is free, {sentences.listed(shares)}."


def _leaderboard(spec: TournamentSpec) -> str:
    board = spec.leaderboard
    again = ", and again before it enters" if board.reevaluate else ""
    return (
        f"Each agent is ranked by the {SCORES[board.score]} of {board.eval_episodes:,} deterministic episodes{again}; "
        f"the best {board.size:,} are kept."
    )


def space_words(space: SearchSpace) -> str:
    """0.0001 to 0.01, loguniform; or the choices."""
    values: Sequence[Any] = space.values
    if space.kind in RANGES:
        return f"{sentences.setting(values[0])} to {sentences.setting(values[-1])}, {space.kind}"
    return ", ".join(sentences.setting(value) for value in values)
