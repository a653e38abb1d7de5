"""The Plotly figure of an agent's page, as plain data. Colours are CSS variables, which the page resolves.

The curves of a tournament's page are drawn by static/js/curves.js.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Figure = dict[str, Any]
Columns = Mapping[str, Sequence[float | None]]

X_TITLE = "env steps, ancestors' included"
RETURN_COLUMN = "episodic_return"
SHARED_COLUMNS = ("env_steps", "seconds")


def agent_figure(curve: Columns, column: str, color: str) -> Figure:
    """One column of one agent's curve over its env steps."""
    trace = {
        "type": "scatter",
        "mode": "lines",
        "line": {"color": color, "width": 2},
        "connectgaps": False,
        "hovertemplate": "<b>%{fullData.name}</b><br>%{y:,.4~g} at %{x:,.4~s}<extra></extra>",
        "x": list(curve["env_steps"]),
        "y": list(curve.get(column, ())),
        "name": column_title(column),
        "meta": {"role": "agent"},
    }
    return {"data": [trace], "layout": layout()}


def curve_columns(curve: Columns) -> list[str]:
    """What can be drawn of a curve: the return first, then what the learner reports."""
    others = [name for name in curve if name not in (*SHARED_COLUMNS, RETURN_COLUMN)]
    return [RETURN_COLUMN, *others]


def column_title(column: str) -> str:
    """A column's name as a person reads it."""
    return "Return" if column == RETURN_COLUMN else column.replace("_", " ").capitalize()


def layout(x_title: str = X_TITLE) -> Figure:
    """Axes and margins."""
    grid = {"gridcolor": "--line", "zeroline": False, "fixedrange": False, "tickfont": {"color": "--muted", "size": 11}}
    return {
        "margin": {"l": 52, "r": 14, "t": 14, "b": 40},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "zoom",
        "font": {"family": "system-ui, sans-serif", "color": "--ink"},
        "hoverlabel": {"bgcolor": "--raised", "bordercolor": "--line", "font": {"color": "--ink"}},
        "xaxis": {
            **grid,
            "showgrid": False,
            "rangemode": "tozero",
            "tickformat": "~s",
            "title": {"text": x_title, "font": {"size": 11, "color": "--muted"}, "standoff": 6},
        },
        "yaxis": {**grid, "tickformat": ",~g", "rangemode": "normal"},
        "uirevision": x_title,
    }
