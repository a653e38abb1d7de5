"""What the form says of each hyperparameter: its meaning, its bounds, and how it could be searched."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from podracer_core.envs import catalogue
from podracer_core.envs.catalogue import CatalogueEntry
from podracer_core.hyperparameters import ALGORITHMS, DISCOUNTS, Value, algorithm_problem, complete, sees_images
from podracer_core.spec import MAX_NUM_ENVS
from podracer_core.spec_parse import SEARCHED
from webapp.tournaments.form.typed import number_text, values_text

NOTES = {
    "ppo": "the steady first choice; learns from images too",
    "a2c": "light and quick, less steady than ppo",
    "dqn": "needs few env steps; learns from images too",
    "ddpg": "the plain forerunner of td3",
    "td3": "needs few env steps",
    "sac": "needs few env steps, explores by itself",
    "redq": "needs the fewest env steps, computes most",
}
"""What each algorithm is good for, in a few words."""


def misfit(algorithm: str, entry: CatalogueEntry) -> str:
    """Why an algorithm cannot learn in an environment, in a few words; empty where it can."""
    if algorithm_problem(algorithm, entry.action_kind):
        return f"cannot choose {entry.action_kind} actions"
    if entry.observation_space.image and not sees_images(algorithm):
        return "cannot see images"
    return ""


@cache
def described() -> dict[str, dict[str, dict[str, str]]]:
    """Algorithm -> hyperparameter -> its meaning and bounds."""
    found = {
        algorithm: {
            name: {"about": info.description or "", "bounds": _bounds_text(info)}
            for name, info in model.model_fields.items()
        }
        for algorithm, model in ALGORITHMS.items()
    }
    num_envs = {"about": "environments that a pod steps at once", "bounds": f"from 1 to {MAX_NUM_ENVS:,}"}
    return {algorithm: {**names, "num_envs": num_envs} for algorithm, names in found.items()}


def _limits(info: Any) -> dict[str, float]:
    """ge, gt, le and lt, as far as there are."""
    names = ("ge", "gt", "le", "lt")
    return {name: getattr(item, name) for item in info.metadata for name in names if hasattr(item, name)}


def _bounds_text(info: Any) -> str:
    if info.annotation is bool:
        return "true or false"
    options = [option for option in get_args(info.annotation) if isinstance(option, str)]
    if options:
        return " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))
    limits = _limits(info)
    ends = {"ge": "from", "gt": "above", "le": "at most", "lt": "below"}
    return ", ".join(f"{word} {number_text(limits[name])}" for name, word in ends.items() if name in limits)


def tuned(algorithm: str, entry: CatalogueEntry) -> dict[str, Value]:
    """What each hyperparameter is in `entry` unless told otherwise."""
    known = catalogue.default_hyperparameters(entry.id, algorithm)
    values: dict[str, Value] = complete(
        algorithm, known, catalogue.image_hyperparameters(entry, algorithm)
    ).model_dump()
    return values


def suggestions(algorithm: str, entry: CatalogueEntry) -> dict[str, dict[str, str]]:
    """Hyperparameter -> kind and values of a search around its tuned value, and that value."""
    found = {}
    for name, value in tuned(algorithm, entry).items():
        space = space_around(algorithm, name, value)
        kind, content = next(iter(space.items()))
        found[name] = {"kind": kind, "values": values_text(content), "tuned": values_text(value)}
    return found


def space_around(algorithm: str, name: str, value: Value) -> dict[str, Any]:
    """A search space around a tuned value, inside of what the hyperparameter may be."""
    info = ALGORITHMS[algorithm].model_fields[name]
    limits = _limits(info)
    if isinstance(value, bool):
        return {"choice": [False, True]}
    if isinstance(value, str):
        options = [option for option in get_args(info.annotation) if isinstance(option, str)]
        return {"choice": options} if len(options) > 1 else {"fixed": value}
    if isinstance(value, int):
        low, high = int(limits.get("ge", 0)), int(limits.get("le", 2 * value + 1))
        return {"choice": sorted({max(value // 2, low), value, min(2 * value or 1, high)})}
    if name in SEARCHED:
        return SEARCHED[name](value)
    if name in DISCOUNTS and value < 1:
        return {"uniform": [_short(1 - 2 * (1 - value)), _short(1 - (1 - value) / 2)]}
    return {"uniform": [_short(value / 2), _short(_most(value, limits))]}


def _most(value: float, limits: Mapping[str, float]) -> float:
    """Twice the value, or a tenth of the bound above 0, as far as the bound allows."""
    bound = limits.get("le", limits.get("lt", 1.0))
    return min(2 * value if value else min(0.1, bound), bound if "le" in limits else (bound + value) / 2)


def _short(number: float) -> float:
    return float(f"{number:.4g}")
