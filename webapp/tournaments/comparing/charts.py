"""The Plotly figures of a comparison, as plain data; see `charts`."""

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.tournaments.charts import X_TITLE, Figure, layout

Trace = dict[str, Any]

COLORS = 12

X_TITLES = {"steps": X_TITLE, "seconds": "seconds since the start"}


def curves_figure(environment: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], axis: str) -> Figure:
    """Each group's mean with its band, and hidden at first the best return of any of its agents so far."""
    data: list[Trace] = []
    for group in groups:
        curve = environment["curves"][group["key"]]
        data.append(_band(group, curve["x"], curve["low"], curve["high"]))
        data.append(_line(group, curve["x"], curve["mean"], "mean", "return %{y:,.4~g} at %{x:,.4~s}"))
        best = _line(group, curve["x"], curve["best"], "best", "best so far %{y:,.4~g} at %{x:,.4~s}")
        data.append({**best, "visible": False})
    figure = layout(X_TITLES[axis])
    if environment["target"] is not None:
        figure |= _target(environment["target"])
    return {"data": data, "layout": figure}


def _target(target: float) -> Figure:
    """A dashed line over the whole width, and its name at the left, where curves are still far from it."""
    line = {"color": "--accent", "width": 1.3, "dash": "7px,5px"}
    place = {"xref": "paper", "x": 0, "y": target, "xanchor": "left", "yanchor": "bottom", "showarrow": False}
    label = {"text": f"target {target:,g}", "font": {"color": "--accent", "size": 11}}
    ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": target, "y1": target}
    shape = {"type": "line", "layer": "below", "line": line, **ends}
    return {"shapes": [shape], "annotations": [label | place]}


def profiles_figure(environment: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> Figure:
    """The share of each group's episodes above a return, with its band."""
    profiles, data = environment["profiles"], []
    for group in groups:
        found = profiles["groups"].get(group["key"])
        if found is None:
            continue
        thresholds = profiles["thresholds"]
        data.append(_band(group, thresholds, found["low"], found["high"]))
        data.append(_line(group, thresholds, found["share"], "profile", "%{y:.0%} of episodes above %{x:,.4~g}"))
    figure = layout("return")
    figure["xaxis"] |= {"rangemode": "normal", "tickformat": ",~g"}
    figure["yaxis"] |= {"range": [-0.02, 1.03], "tickformat": ".0%"}
    return {"data": data, "layout": figure}


def color(group: Mapping[str, Any]) -> str:
    return f"--chip-{group['color'] % COLORS}"


def _band(group: Mapping[str, Any], x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*x, *reversed(x)],
        "y": [*high, *reversed(low)],
        "fill": "toself",
        "fillcolor": color(group),
        "line": {"width": 0, "color": color(group)},
        "opacity": 0.17,
        "hoverinfo": "skip",
        "meta": {"role": "band", "group": group["key"]},
    }


def _line(group: Mapping[str, Any], x: Sequence[float], y: Sequence[float], role: str, says: str) -> Trace:
    # A label is shown as it was typed: Plotly would take tags in it for its own.
    label = group["label"].replace("&", "&amp;").replace("<", "&lt;")
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "name": label,
        "line": {"color": color(group), "width": 2.2},
        "hovertemplate": f"<b>%{{fullData.name}}</b><br>{says}<extra></extra>",
        "meta": {"role": role, "group": group["key"]},
    }
