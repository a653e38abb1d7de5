"""Directives that write the reference from the models which validate: it cannot say anything else than they do."""

import argparse
import types
from typing import Any, Literal, Union, get_args, get_origin

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from sphinx.application import Sphinx

from podracer_core import spec
from podracer_core.__main__ import build_parser
from podracer_core.hyperparameters import ALGORITHMS

KINDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}
PARTS = {
    "pool": spec.PoolSpec,
    "round": spec.RoundSpec,
    "leaderboard": spec.LeaderboardSpec,
    "generator": spec.GeneratorSpec,
    "stop": spec.StopSpec,
}


class _Written(Directive):
    """Markdown lines, parsed as if they stood in the page."""

    def run(self) -> list[nodes.Node]:
        container = nodes.container()
        self.state.nested_parse(StringList(self.lines(), self.state_machine.document["source"]), 0, container)
        return container.children

    def lines(self) -> list[str]:
        raise NotImplementedError


class Specification(_Written):
    """Every field of a TournamentSpec."""

    def lines(self) -> list[str]:
        top = {name: info for name, info in spec.TournamentSpec.model_fields.items() if name not in PARTS}
        lines = ["### At the top", "", *_table(top)]
        lines += ["### `[[algorithms]]`", "", *_about(spec.AlgorithmSpec), *_table(spec.AlgorithmSpec.model_fields)]
        for name, model in PARTS.items():
            lines += [f"### `[{name}]`", "", *_about(model), *_table(model.model_fields)]
        return lines


class Hyperparameters(_Written):
    """Every hyperparameter of every algorithm."""

    def lines(self) -> list[str]:
        lines: list[str] = []
        for name, model in ALGORITHMS.items():
            lines += [f"### `{name}`", "", *_about(model), *_table(model.model_fields)]
        return lines


class CommandLine(_Written):
    """What `python -m podracer_core` and each of its commands say of themselves."""

    def lines(self) -> list[str]:
        parser = build_parser()
        (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        abouts = {action.dest: action.help or "" for action in commands._choices_actions}
        lines: list[str] = []
        for name, command in commands.choices.items():
            lines += [f"### `{name}`", "", f"{abouts.get(name, '').rstrip('.').capitalize()}.", ""]
            lines += ["```text", *command.format_help().splitlines(), "```", ""]
        return lines


def _about(model: type[BaseModel]) -> list[str]:
    return [" ".join((model.__doc__ or "").split()), ""]


def _table(fields: dict[str, FieldInfo]) -> list[str]:
    rows = [
        f"| `{name}` | {_kind(info)} | {_default(info)} | {(info.description or '').replace('|', '/')} |"
        for name, info in fields.items()
    ]
    return ["| field | takes | default | meaning |", "| --- | --- | --- | --- |", *rows, ""]


def _kind(info: FieldInfo) -> str:
    bounds = {
        sign: getattr(rule, name)
        for rule in info.metadata
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
        if getattr(rule, name, None) is not None
    }
    limits = " and ".join(f"{sign} {value:,}" for sign, value in bounds.items())
    return f"{_type(info.annotation)} {limits}".strip()


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(f'`"{value}"`' for value in get_args(annotation))
    if get_origin(annotation) in (Union, types.UnionType):
        return " or ".join(_type(part) for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is tuple:
        return "one or several tables"
    if get_origin(annotation) is dict:
        return "table"
    if hasattr(annotation, "__metadata__"):
        return _type(annotation.__origin__)
    return KINDS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {part}" for key, part in value.items())
        return f"`{{ {inner} }}`" if inner else "`{}`"
    if isinstance(value, tuple):
        return "`ppo`, tuned for the environment"
    return f"`{str(value).lower() if isinstance(value, bool) else value!r}`".replace("'", '"')


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("specification", Specification)
    app.add_directive("hyperparameters", Hyperparameters)
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
