"""What differs between any number of specifications, named as in their TOML. Pure functions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from podracer_core.tournament.sentences import setting

RANGES = ("uniform", "loguniform", "int")
DEFAULT = "default"


def spec_table(specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows {name, values} in the order of the specifications' fields; a value is None where a field is not there.

    The specifications are complete and in JSON form, but for hyperparameters that are left to their default. Their
    names are left out.
    """
    columns = [dict(_flat(spec)) for spec in specs]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [{"name": name, "values": [_value(column, name) for column in columns]} for name in names]
    return [row for row in rows if len(set(row["values"])) > 1]


def spec_table_of_groups(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The same of groups of specifications: what those of one group have of a field stands in one cell."""
    ends = pairwise(accumulate(map(len, groups), initial=0))
    places = [slice(*end) for end in ends]
    rows = [
        {"name": row["name"], "values": [_together(row["values"][place]) for place in places]}
        for row in spec_table([spec for group in groups for spec in group])
    ]
    return [row for row in rows if len(set(row["values"])) > 1]


def _together(values: Sequence[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(value for value in values if value is not None)) or None


def experiment(spec: Mapping[str, Any]) -> str:
    """What tournaments have in common that repeat one another: all but the name, the seed, and what place among others
    it has. Budgets count: what was reached with more is not a repetition.
    """
    pool = {name: value for name, value in spec["pool"].items() if name != "priority"}
    rest = {name: value for name, value in spec.items() if name not in ("name", "seed")}
    return json.dumps(rest | {"pool": pool}, sort_keys=True)


def _value(column: Mapping[str, str], name: str) -> str | None:
    algorithm, _, _ = name.partition(".")
    return column.get(name, DEFAULT if algorithm in column["algorithms"].split(", ") else None)


def _flat(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in spec.items():
        if name == "name":
            continue
        if name == "algorithms":
            yield name, ", ".join(part["name"] for part in value)
            for part in value:
                for setting_name, space in part["search_space"].items():
                    yield f"{part['name']}.{setting_name}", _text(space)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield from _entry(f"{name}.{key}", inner)
        else:
            yield from _entry(name, value)


def _entry(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if value is not None:
        yield name, _text(value)


def _text(value: Any) -> str:
    """A value in a few words: a search space is loguniform 1.0e-4 to 3.0e-3, weights are fresh 0.2, exploit 0.8."""
    if isinstance(value, Mapping):
        kind, values = next(iter(value.items()), ("none", ""))
        if len(value) == 1 and isinstance(values, list):
            return f"{kind} {(' to ' if kind in RANGES else ', ').join(map(setting, values))}"
        if set(value) == {"fixed"}:
            return setting(value["fixed"])
        return ", ".join(f"{key} {_text(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return setting(value)
