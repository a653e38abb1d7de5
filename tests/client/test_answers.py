"""The client's types say what the API's own description says."""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from podracer_client import answers
from webapp.tournaments.api import api

PAIRS = {
    "Tournament": "TournamentOut",
    "Entry": "EntryOut",
    "Pod": "PodOut",
    "Event": "EventOut",
    "Agent": "AgentOut",
    "Ensemble": "EnsembleOut",
    "Export": "ExportOut",
}


@pytest.mark.parametrize(("ours", "theirs"), PAIRS.items())
def test_a_type_has_the_fields_and_kinds_of_the_api(ours: str, theirs: str) -> None:
    components = api.get_openapi_schema()["components"]["schemas"]
    assert typed_shape(getattr(answers, ours)) == shape(components[theirs], components)


def test_a_patch_has_the_fields_of_the_api() -> None:
    schema = api.get_openapi_schema()["components"]["schemas"]["TournamentPatch"]
    assert set(schema["properties"]) == set(answers.Patch.__annotations__)


KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def typed_shape(kind: Any) -> Any:
    """A type of the client as `shape` tells one of the API."""
    if is_typeddict(kind):
        return {name: typed_shape(part) for name, part in get_type_hints(kind).items()}
    if get_origin(kind) in (UnionType, Union):
        return sorted((typed_shape(option) for option in get_args(kind)), key=str)
    if get_origin(kind) is list:
        return [typed_shape(get_args(kind)[0])]
    if get_origin(kind) is dict:
        return "object" if get_args(kind)[1] is Any else {"*": typed_shape(get_args(kind)[1])}
    return KINDS[kind]


def shape(schema: Any, parts: dict[str, Any]) -> Any:
    """A JSON schema without names and descriptions, references followed. Of answers every field is there."""
    if "$ref" in schema:
        return shape(parts[schema["$ref"].rsplit("/", 1)[1]], parts)
    if "anyOf" in schema:
        return sorted((shape(option, parts) for option in schema["anyOf"]), key=str)
    kind = schema["type"]
    if kind == "array":
        return [shape(schema["items"], parts)]
    if "properties" in schema:
        assert set(schema["required"]) == set(schema["properties"])
        return {name: shape(part, parts) for name, part in schema["properties"].items()}
    if isinstance(schema.get("additionalProperties"), dict):
        return {"*": shape(schema["additionalProperties"], parts)}
    return kind
