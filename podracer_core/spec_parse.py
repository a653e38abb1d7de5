"""The edge where a specification comes in: what `spec_parse` returns is complete and can be trusted inside.

Defaults that depend on the environment are filled in, and what no single field shows (no batch, a target that
cannot be met, an algorithm that cannot choose the environment's actions) is refused with the field's name.
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from podracer_core.envs import catalogue, known
from podracer_core.errors import PodracerError, SpecError
from podracer_core.hyperparameters import (
    ALGORITHMS,
    DECISIVE,
    algorithm_problem,
    batch_problem,
    complete,
    observation_problem,
)
from podracer_core.sentences import sentence
from podracer_core.spec import DEFAULT_STOP_PODS, AlgorithmSpec, TournamentSpec

MAX_SPEC_BYTES = 256 * 1024


def spec_parse(data: Any) -> TournamentSpec:
    """The complete specification that `data`, read from JSON, TOML or a form, describes.

    Raises SpecError with every error found, each naming its field.
    """
    if not isinstance(data, Mapping):
        raise SpecError([("", f"a specification is a table of fields, got {type(data).__name__}")])
    env_id = data.get("env_id")
    if not isinstance(env_id, str) or not env_id:
        raise SpecError([("env_id", "name the environment, for example CartPole-v1")])
    entry, errors = _environment(env_id)
    spec = None
    try:
        spec = TournamentSpec.model_validate(_with_defaults(data, entry))
    except ValidationError as error:
        errors += [item for detail in _causes(error) for item in _field_errors(detail)]
    if spec and entry:
        errors += [
            *_batch_errors(spec),
            *_stop_errors(spec, entry),
            *_algorithm_errors(spec, entry),
            *_observation_errors(spec, entry),
            *_mode_errors(spec),
        ]
    if errors or spec is None:
        raise SpecError(errors)
    return spec


def spec_parse_json(body: bytes) -> TournamentSpec:
    """`spec_parse` of a JSON document. Raises SpecError also for one that is too large or not strict JSON."""
    return spec_parse(_read(body, "JSON", lambda text: json.loads(text, parse_constant=_refuse_constant)))


def spec_parse_toml(body: bytes) -> TournamentSpec:
    """`spec_parse` of a TOML document. Raises SpecError also for one that is too large or not TOML."""
    return spec_parse(_read(body, "TOML", tomllib.loads))


def _read(body: bytes, kind: str, loads: Callable[[str], Any]) -> Any:
    if len(body) > MAX_SPEC_BYTES:
        raise SpecError([("", f"the specification has {len(body):,} bytes; at most {MAX_SPEC_BYTES:,} are read")])
    try:
        return loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise SpecError([("", f"this is not valid {kind}: {error}")]) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON has")


def _environment(env_id: str) -> tuple[catalogue.CatalogueEntry | None, list[tuple[str, str]]]:
    try:
        return known.environment_check(env_id), []
    except PodracerError as error:
        return None, [("env_id", str(error))]


def _with_defaults(data: Mapping[str, Any], entry: catalogue.CatalogueEntry | None) -> dict[str, Any]:
    """`data` with what depends on the environment filled in where the user left it out."""
    filled = dict(data)
    env_id = str(data["env_id"])
    if entry is None:
        return filled
    name = filled.get("name")
    if not name or (isinstance(name, str) and name.isspace()):
        filled["name"] = f"{env_id} tournament"[:120]
    if filled.get("round") in (None, {}):
        filled["round"] = {"env_steps": entry.default_round_env_steps}
    if filled.get("stop") is None:
        filled["stop"] = {"pods": DEFAULT_STOP_PODS, "score": entry.solved_score}
    if not filled.get("algorithms"):
        filled["algorithms"] = data.get("algorithms", [{"name": "ppo"}])
    if isinstance(filled["algorithms"], list):
        parts = [_with_default_space(part, entry) for part in filled["algorithms"]]
        pool = filled.get("pool")
        free = not isinstance(pool, Mapping) or pool.get("num_envs", "auto") == "auto"
        filled["algorithms"] = [_with_what_shows(part, entry, free=free) for part in parts]
    return filled


def _with_what_shows(part: Any, entry: catalogue.CatalogueEntry, *, free: bool) -> Any:
    """What only a started environment shows, that it observes images and what a step costs, is written down: not every
    process knows, and another machine may measure otherwise. free: whether the number of environments is left to us
    """
    if not isinstance(part, Mapping) or not isinstance(part.get("search_space"), Mapping):
        return part
    name = part.get("name", "ppo")
    if not isinstance(name, str) or name not in ALGORITHMS:
        return part
    values = catalogue.image_hyperparameters(entry, name)
    if free and entry.id not in catalogue.CATALOGUE:
        values = {**catalogue.measured_hyperparameters(entry, name), **values}
        values["num_envs"] = catalogue.suited_num_envs(entry, name)
    return {**part, "search_space": {**values, **part["search_space"]}}


def _with_default_space(part: Any, entry: catalogue.CatalogueEntry) -> Any:
    if not isinstance(part, Mapping) or "search_space" in part:
        return part
    name = part.get("name", "ppo")
    if not isinstance(name, str) or name not in ALGORITHMS:
        return part
    return {**part, "search_space": default_search_space(name, entry)}


def default_search_space(algorithm: str, entry: catalogue.CatalogueEntry) -> dict[str, Any]:
    """What is searched when the user names nothing: those of SEARCHED that the algorithm has."""
    known, shown = (
        catalogue.default_hyperparameters(entry.id, algorithm),
        catalogue.image_hyperparameters(entry, algorithm),
    )
    tuned = complete(algorithm, known, shown).model_dump()
    return {
        name: space_around(tuned[name]) for name, space_around in SEARCHED.items() if isinstance(tuned.get(name), float)
    }


def _factor_of_two(value: float) -> dict[str, Any]:
    return {"loguniform": [float(f"{value / 2:.2g}"), float(f"{min(value * 2, 1.0):.2g}")]}


SEARCHED: dict[str, Callable[[float], dict[str, Any]]] = {
    "learning_rate": _factor_of_two,
    "gae_lambda": lambda value: {"uniform": [round(max(0.0, value - 0.05), 3), round(min(1.0, value + 0.02), 3)]},
    "ent_coef": lambda value: {"uniform": [0.0, round(max(2 * value, 0.01), 3)]},
    "tau": _factor_of_two,
    "exploration_noise": lambda value: {"uniform": [round(value / 2, 3), round(min(2 * value, 1.0), 3)]},
}
"""What a tournament searches by default: hyperparameter -> the space around its tuned value."""


def _batch_errors(spec: TournamentSpec) -> list[tuple[str, str]]:
    """Refuses a space of which some draw makes no batch."""
    errors = []
    for index, part in enumerate(spec.algorithms):
        space = spec.search_space(part.name)
        worst = {name: decide(space[name].extremes) for name, decide in DECISIVE.items() if name in space}
        counts = [int(count) for count in spec.num_envs_space(part.name).extremes]
        problem = batch_problem(worst, min(counts)) or batch_problem(worst, max(counts))
        if problem:
            errors.append((f"algorithms.{index}.search_space.{problem[0]}", problem[1]))
    return errors


def _mode_errors(spec: TournamentSpec) -> list[tuple[str, str]]:
    generator = spec.generator
    if generator.mode == "successive_halving" and spec.round.env_steps is None:
        return [("round.env_steps", "the rungs of successive halving are counted in env steps; give some")]
    if generator.mode == "generational" and spec.pool.size < 2 * generator.pods_per_agent:
        most = spec.pool.size // 2
        text = f"a pool of {spec.pool.size} holds fewer than two agents of {generator.pods_per_agent} pods; "
        return [("generator.pods_per_agent", text + (f"at most {most}" if most else "make the pool larger"))]
    return []


def _stop_errors(spec: TournamentSpec, entry: catalogue.CatalogueEntry) -> list[tuple[str, str]]:
    target = spec.stop.score
    if target is not None and entry.max_score is not None and target > entry.max_score:
        return [("stop.score", f"{target:g} can never be met: {spec.env_id} gives at most {entry.max_score:g}")]
    return []


def _algorithm_errors(spec: TournamentSpec, entry: catalogue.CatalogueEntry) -> list[tuple[str, str]]:
    names = [part.name for part in spec.algorithms]
    misfits = [
        (f"algorithms.{index}.name", problem)
        for index, name in enumerate(names)
        if (problem := algorithm_problem(name, entry.action_kind))
    ]
    return misfits + [
        (f"algorithms.{index}.name", f"{name} is listed twice; put both spaces into one")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


def _observation_errors(spec: TournamentSpec, entry: catalogue.CatalogueEntry) -> list[tuple[str, str]]:
    """Refuses an algorithm, or a space of which some draw, cannot see what the environment shows."""
    errors, space = [], entry.observation_space
    for index, part in enumerate(spec.algorithms):
        worst = {name: max(values.extremes) for name, values in spec.search_space(part.name).items() if name in _SEEING}
        problem = observation_problem(part.name, worst, kind=space.kind, image=space.is_image)
        if problem:
            field = f"search_space.{problem[0]}" if problem[0] else "name"
            errors.append((f"algorithms.{index}.{field}", problem[1]))
    return errors


_SEEING = ("norm_obs", "frame_stack")
"""Hyperparameters of which the largest value decides, see `observation_problem`."""


def _causes(error: ValidationError) -> list[Any]:
    """The error's entries without "too short" of a list that is only short because its members did not hold."""
    details = error.errors()
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(other["loc"][: len(detail["loc"])] == detail["loc"] and other is not detail for other in details)
    ]


def _field_errors(detail: Any) -> list[tuple[str, str]]:
    """One pydantic error as (field, message) pairs; a SpecError raised inside keeps its own fields."""
    path = ".".join(str(part) for part in detail["loc"])
    inner = detail.get("ctx", {}).get("error")
    if isinstance(inner, SpecError):
        return [(f"{path}.{field}" if path else field, message) for field, message in inner.errors]
    if detail["type"] == "extra_forbidden":
        return [(path, f"there is no field {detail['loc'][-1]!r} here{_known_fields(detail['loc'][:-1])}")]
    return [(path, sentence(detail))]


def _known_fields(path: tuple[Any, ...]) -> str:
    model: Any = TournamentSpec
    for part in path:
        if isinstance(part, int):
            continue
        model = AlgorithmSpec if part == "algorithms" else model.model_fields[part].annotation
    return f"; there are {', '.join(model.model_fields)}"
