"""The Plotly figures, as plain data. Colours are CSS variables, which the page resolves for light and dark.

`curves_figure` draws a tournament's snapshot for the first paint; static/js/curves.js grows it in place and
builds the same traces, so what one of them calls a thing the other must call too.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Figure = dict[str, Any]
Trace = dict[str, Any]
Columns = Mapping[str, Sequence[float | None]]

GHOST_POINTS = 60
"""Points a ghost keeps: it is background, and there may be hundreds."""

AXIS_TITLES = {"steps": "env steps, ancestors' included", "time": "seconds since the start"}
RETURN_COLUMN = "episodic_return"
SHARED_COLUMNS = ("env_steps", "seconds")


def curves_figure(snapshot: Mapping[str, Any], axis: str = "steps") -> Figure:
    """Learning curves of a tournament: ghosts, running pods, the board's agents, and the target."""
    curves, pods = snapshot["curves"], {pod["agent"]: pod for pod in snapshot["pods"]["items"]}
    # An ensemble, which has no rank, has learned nothing itself and so has no line.
    board = {item["agent"]: item for item in snapshot["leaderboard"]["items"] if item["rank"] is not None}
    running = [pod for pod in pods.values() if pod["status"] == "RUNNING" and pod["agent"] not in board]
    live = {pod["agent"] for pod in running}
    lines = {agent: curve_xy(curves[agent], pods.get(agent), axis) for agent in curves}
    ghosts = [lines[agent] for agent in lines if agent not in board and agent not in live]
    empty: tuple[list[float], list[float | None]] = ([], [])
    traces = [ghost_trace(ghosts)]
    traces += [running_trace(pod, *lines.get(pod["agent"], empty)) for pod in running]
    # The champion last, so that nothing lies over it.
    traces += [board_trace(item, *lines.get(item["agent"], empty)) for item in reversed(list(board.values()))]
    traces.append(heads_trace([(item["color"], *lines.get(item["agent"], empty)) for item in board.values()]))
    return {"data": traces, "layout": layout(axis, snapshot["tournament"]["target_score"])}


def curve_xy(curve: Columns, pod: Mapping[str, Any] | None, axis: str) -> tuple[list[float], list[float | None]]:
    """x and y of one agent's curve, moved to where its pod began: after its ancestors' steps, or at its time."""
    if axis == "steps":
        offset = float(pod["base_env_steps"] or 0) if pod else 0.0
        column = "env_steps"
    else:
        offset = float(pod["start_seconds"] or 0) if pod else 0.0
        column = "seconds"
    xs = [offset + (value or 0) for value in curve[column]]
    return xs, list(curve[RETURN_COLUMN])


def ghost_trace(lines: Iterable[tuple[list[float], list[float | None]]]) -> Trace:
    """Every line that is neither on the board nor running, in one trace with gaps: one thing to draw."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for line_x, line_y in lines:
        step = max(1, len(line_x) // GHOST_POINTS)
        xs += [*line_x[::step], *line_x[-1:], None]
        ys += [*line_y[::step], *line_y[-1:], None]
    return {
        **_line("--ghost", 1),
        "x": xs,
        "y": ys,
        "name": "other pods",
        "hoverinfo": "skip",
        "meta": {"role": "ghosts"},
    }


def running_trace(pod: Mapping[str, Any], xs: Sequence[float], ys: Sequence[float | None]) -> Trace:
    """A pod that trains now."""
    return {
        **_line("--running", 1.6),
        "x": list(xs),
        "y": list(ys),
        "name": f"{pod['agent_name']} (training)",
        "meta": {"role": "running", "agent": pod["agent"]},
    }


def board_trace(item: Mapping[str, Any], xs: Sequence[float], ys: Sequence[float | None]) -> Trace:
    """An agent of the leaderboard, in its chip's colour."""
    return {
        **_line(f"--chip-{item['color'] % 12}", 2.6 if item["rank"] == 1 else 2),
        "x": list(xs),
        "y": list(ys),
        "name": f"{item['rank']} {item['name']}",
        "meta": {"role": "board", "agent": item["agent"]},
    }


def heads_trace(lines: Iterable[tuple[int, Sequence[float], Sequence[float | None]]]) -> Trace:
    """A dot where each line of the board ends."""
    ends = [(color, *_end(xs, ys)) for color, xs, ys in lines]
    return {
        "type": "scatter",
        "mode": "markers",
        "hoverinfo": "skip",
        "x": [x for _, x, _ in ends],
        "y": [y for _, _, y in ends],
        "marker": {"size": 7, "color": [f"--chip-{color % 12}" for color, _, _ in ends]},
        "meta": {"role": "heads"},
    }


def _end(xs: Sequence[float], ys: Sequence[float | None]) -> tuple[float | None, float | None]:
    known = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    return known[-1] if known else (None, None)


def agent_figure(curve: Columns, column: str, color: str) -> Figure:
    """One column of one agent's curve over its env steps."""
    return {
        "data": [
            {
                **_line(color, 2),
                "x": list(curve["env_steps"]),
                "y": list(curve.get(column, ())),
                "name": column_title(column),
                "meta": {"role": "agent"},
            }
        ],
        "layout": layout("steps", None),
    }


def curve_columns(curve: Columns) -> list[str]:
    """What can be drawn of a curve: the return first, then what the learner reports."""
    others = [name for name in curve if name not in (*SHARED_COLUMNS, RETURN_COLUMN)]
    return [RETURN_COLUMN, *others]


def column_title(column: str) -> str:
    """A column's name as a person reads it."""
    return "Return" if column == RETURN_COLUMN else column.replace("_", " ").capitalize()


def layout(axis: str, target: float | None) -> Figure:
    """Axes and margins; the target is a dashed line over the whole width with its label above it."""
    grid = {"gridcolor": "--line", "zeroline": False, "fixedrange": False, "tickfont": {"color": "--muted", "size": 11}}
    figure: Figure = {
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
            "title": {"text": AXIS_TITLES[axis], "font": {"size": 11, "color": "--muted"}, "standoff": 6},
        },
        # Returns that are good above 0 are seen against 0; negative ones would only be squeezed by it.
        "yaxis": {**grid, "tickformat": ",~g", "rangemode": "tozero" if (target or 0) > 0 else "normal"},
        "uirevision": axis,
    }
    if target is not None:
        figure["shapes"] = [
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": target, "y1": target,
                "line": {"color": "--accent", "width": 1.3, "dash": "dash"},
            }
        ]  # fmt: skip
        figure["annotations"] = [
            {
                "text": f"target {target:,g}", "xref": "paper", "x": 1, "y": target, "xanchor": "right",
                "yanchor": "bottom", "showarrow": False, "font": {"color": "--accent", "size": 11},
            }
        ]  # fmt: skip
    return figure


def _line(color: str, width: float) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "line": {"color": color, "width": width},
        "connectgaps": False,
        "hovertemplate": "<b>%{fullData.name}</b><br>%{y:,.4~g} at %{x:,.4~s}<extra></extra>",
    }
