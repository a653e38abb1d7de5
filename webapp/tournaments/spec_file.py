"""A specification written down as TOML, as a person would write it and `spec_parse_toml` reads it."""

import json
from collections.abc import Mapping
from typing import Any


def spec_toml(spec: Mapping[str, Any]) -> str:
    """The TOML document of a specification in JSON form; what is None is left out, as TOML has no null."""
    lines = [f"{name} = {_value(value)}" for name, value in _plain(spec)]
    for part in spec.get("algorithms", ()):
        lines += ["", "[[algorithms]]", f"name = {_value(part['name'])}"]
        lines += [f"search_space.{name} = {_value(space)}" for name, space in part["search_space"].items()]
    for name, table in spec.items():
        if isinstance(table, Mapping):
            entries = [f"{key} = {_value(value)}" for key, value in table.items() if value is not None]
            lines += ["", f"[{name}]", *entries]
    return "\n".join(lines) + "\n"


def _plain(spec: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (name, value)
        for name, value in spec.items()
        if value is not None and name != "algorithms" and not isinstance(value, Mapping)
    ]


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, str):
        # TOML's basic strings escape as JSON's do, with DEL escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)
