"""What agents were trained with, side by side."""

from collections.abc import Sequence
from typing import Any

from podracer_core.hyperparameters import ALGORITHMS
from podracer_core.tournament.sentences import setting
from webapp.tournaments.models import Agent

NUM_ENVS = "num_envs"


def hyperparameter_table(agents: Sequence[Agent]) -> list[dict[str, Any]]:
    """Rows {name, values, differs}: those that differ come first; a value is None where the algorithm has no such."""
    columns = [_given(agent) for agent in agents]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [{"name": name, "values": [column.get(name) for column in columns]} for name in names]
    marked = [{**row, "differs": len(set(row["values"])) > 1} for row in rows]
    return sorted(marked, key=lambda row: not row["differs"])


def _given(agent: Agent) -> dict[str, str]:
    values = {**agent.hyperparameters, NUM_ENVS: agent.envs}
    names = (name for name in (*ALGORITHMS[agent.algorithm].model_fields, NUM_ENVS) if name in values)
    return {"algorithm": agent.algorithm, **{name: setting(values[name]) for name in names}}
