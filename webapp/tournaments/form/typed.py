"""Numbers and search spaces as people type them: read into a specification's values, and written back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from podracer_core.envs.catalogue import CatalogueEntry
from podracer_core.search_space import KINDS
from podracer_core.spec_parse import default_search_space

THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[,_ ]\d{3})+(?:\.\d+)?")
SUFFIXED = re.compile(r"([+-]?\d+(?:\.\d+)?) ?([kMG])")
SUFFIXES = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
KIND_TITLES = dict(
    zip(KINDS, ("fixed at", "one of", "uniform from, to", "log-uniform from, to", "whole from, to"), strict=True)
)


@dataclass
class SpaceRow:
    """One hyperparameter's search space, as it is typed."""

    algorithm: str
    name: str
    kind: str
    values: str
    errors: list[str] = field(default_factory=list)


def spaces_typed(algorithm: str, rows: Sequence[SpaceRow]) -> dict[str, Any]:
    """What is searched of `algorithm`, as its rows say."""
    return {row.name: space_typed(row.kind, row.values) for row in rows if row.algorithm == algorithm}


def space_typed(kind: str, text: str) -> dict[str, Any]:
    """A search space from what was typed: one value for fixed, else values between commas."""
    if kind == "fixed":
        return {"fixed": value_typed(text)}
    return {kind: [value_typed(part) for part in text.split(",") if part.strip()]}


def rows_typed(data: QueryDict) -> list[SpaceRow]:
    """The rows of the search space that are not empty."""
    columns = (data.getlist(f"space-{name}") for name in ("algorithm", "name", "kind", "values"))
    rows = [SpaceRow(*(text.strip() for text in row)) for row in zip(*columns, strict=False)]
    return [row for row in rows if row.name or row.values]


def rows_of(spec: Mapping[str, Any]) -> list[SpaceRow]:
    """The rows that write down a specification's search spaces."""
    return [
        SpaceRow(part["name"], name, kind, values_text(content))
        for part in spec.get("algorithms", ())
        for name, space in part["search_space"].items()
        for kind, content in space.items()
    ]


def default_rows(algorithm: str, entry: CatalogueEntry) -> list[SpaceRow]:
    """What is searched unless told otherwise."""
    return rows_of({"algorithms": [{"name": algorithm, "search_space": default_search_space(algorithm, entry)}]})


def number_typed(text: str) -> int | float | str:
    """A number from 200000, 200,000, 200k, 2e5 or 0.5; any other text stays text, to be refused by name."""
    if THOUSANDS.fullmatch(text):
        text = re.sub(r"[,_ ]", "", text)
    if found := SUFFIXED.fullmatch(text):
        scaled = float(found[1]) * SUFFIXES[found[2]]
        return int(scaled) if scaled.is_integer() else scaled
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < 1e15 and "." not in text else number


def value_typed(text: str) -> bool | int | float | str:
    """A hyperparameter's value; floats stay floats, so that 1.0 is not a whole number."""
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return number_typed(text)


def number_text(value: Any) -> str:
    """A value as it is typed; whole numbers with thousands separators."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else f"{value}"


def values_text(content: Any) -> str:
    """A search space's values as they are typed; twelve figures hide what binary fractions add."""
    parts = content if isinstance(content, list | tuple) else [content]
    return ", ".join(_value_text(part) for part in parts)


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(f"{value:.12g}")) if isinstance(value, float) else f"{value}"
