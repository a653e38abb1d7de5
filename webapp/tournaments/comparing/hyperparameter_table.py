"""What agents were trained with, side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from podracer_core.hyperparameters import ALGORITHMS
from podracer_core.tournament.sentences import setting
from webapp.tournaments.models import Agent

NUM_ENVS = "num_envs"


def hyperparameter_table(agents: Sequence[Agent]) -> list[dict[str, Any]]:
    """Rows {name, values, differs}: those that differ come first; a value is None where the algorithm has no such."""
    columns = [_given(agent) for agent in agents]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [_row(name, columns) for name in names]
    return sorted(rows, key=lambda row: not row["differs"])


def _given(agent: Agent) -> dict[str, Any]:
    values = {**agent.hyperparameters, NUM_ENVS: agent.envs}
    names = (name for name in (*ALGORITHMS[agent.algorithm].model_fields, NUM_ENVS) if name in values)
    return {"algorithm": agent.algorithm, **{name: values[name] for name in names}}


def _row(name: str, columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What would read the same and is not is written out."""
    different = len({column.get(name) for column in columns})
    values = [setting(column[name]) if name in column else None for column in columns]
    if len(set(values)) < different:
        values = [str(column[name]) if name in column else None for column in columns]
    return {"name": name, "values": values, "differs": different > 1}
