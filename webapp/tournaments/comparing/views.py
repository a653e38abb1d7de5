"""The page that compares tournaments and agents."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from podracer_core.errors import SpecError
from webapp.accounts.access import request_actor
from webapp.tournaments import access, selectors
from webapp.tournaments.clock import database_now, finite, iso
from webapp.tournaments.comparing import charts as comparison_charts
from webapp.tournaments.comparing import comparison
from webapp.tournaments.comparing.curves import Axis
from webapp.tournaments.comparing.groups import MOST_GROUPS, Group, Grouping, Of, groups_find, repeat_one_another
from webapp.tournaments.models import Agent, Tournament

OFFERED = 100
"""Tournaments to choose from, the newest that match."""

MOST_TYPED = 200
MOST_DIGITS = 18

Item = dict[str, Any]


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """`?t=1&t=2&a=7` beside each other; with nothing chosen, how to choose. `?only=options`: what can be chosen.

    `?only=comparison` is for the page itself, which follows what runs: nothing to choose from, and what is wrong is
    shown like all else.
    """
    query, visible = request.GET.copy(), access.visible(request_actor(request))
    only = query.pop("only", [""])[-1]
    if only == "options":
        return render(request, "compare/_offered.html", _offered(query, visible))
    of: Of = "champion" if query.get("of") == "champion" else "board"
    grouping: Grouping = "spec" if query.get("group") == "spec" else "none"
    problem, status, groups = "", 200, []
    try:
        tournaments, agents = _ids(query, "t", "tournament"), _ids(query, "a", "agent")
        groups = groups_find(tournaments, agents, visible=visible, of=of, grouping=grouping)
    except SpecError as error:
        problem, status = f"This cannot be compared: {error.errors[0][1]}.", 422
    except (Tournament.DoesNotExist, Agent.DoesNotExist) as error:
        problem, status = f"{error} It may have been deleted since.", 404
    context = {"problem": problem, **_compared(query, groups, of, grouping)}
    if only == "comparison":
        return render(request, "compare/detail.html", context)
    if status == 200 and context["target_problem"]:
        status = 422
    return render(request, "compare/detail.html", context | _offered(query, visible), status=status)


def _compared(query: QueryDict, groups: Sequence[Group], of: Of, grouping: Grouping) -> Item:
    """`groups` beside each other, as the page shows them."""
    axis: Axis = "seconds" if query.get("x") == "seconds" else "steps"
    target, target_problem = _target(query)
    compared = comparison.compare(groups, axis=axis, target=target)
    shown = {group["key"]: {**group, "without": _without(query, group)} for group in compared["groups"]}
    running = any(group["status"] == Tournament.Status.RUNNING for group in compared["groups"])
    return {
        "section": "compare",
        "target_problem": target_problem,
        "following": _with(query, "only", "comparison") if running and not target_problem else "",
        "read_at": iso(database_now()),
        "axis": axis,
        "of": of,
        "grouping": grouping,
        "groupable": grouping == "spec" or len(query.getlist("t")) > MOST_GROUPS or repeat_one_another(groups),
        "grouped": any(len(group.tournaments) > 1 for group in groups),
        "target": query.get("target", ""),
        "kept": [(name, value) for name, values in query.lists() for value in values if name in _KEPT],
        "groups": list(shown.values()),
        "environments": [_environment(part, shown) for part in compared["environments"]],
        "figures": _figures(compared["environments"], shown, axis),
        "differences": _table(compared["differences"], shown),
        "hyperparameters": _table(compared["hyperparameters"], shown),
        "links": {value: _with(query, name, value) for name, value in _CHOICES},
        "csv": _csv_query(query, x=axis, of=of, group=grouping, target=target),
    }


_CHOICES = (
    ("x", "steps"),
    ("x", "seconds"),
    ("of", "board"),
    ("of", "champion"),
    ("group", "none"),
    ("group", "spec"),
)
_KEPT = ("t", "a", "x", "of", "group")
"""What an address says that a form goes on with."""


def _ids(query: QueryDict, name: str, kind: str) -> list[int]:
    """Raises SpecError for what is no id."""
    texts = query.getlist(name)
    for text in texts:
        if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
            raise SpecError([(name, f"{text[:40]!r} is not the id of any {kind}")])
    return [int(text) for text in texts]


def _target(query: QueryDict) -> tuple[float | None, str]:
    """The target that is asked for, if any; and what is wrong with it."""
    text = query.get("target", "").strip()
    if not text:
        return None, ""
    try:
        target = finite(float(text.replace(",", "").replace("\N{MINUS SIGN}", "-")))
    except ValueError:
        target = None
    if target is not None:
        return target, ""
    return None, f"Target score: {text[:40]!r} is not a number, as 475 or -1,200.5 is. Compared without it."


def _csv_query(query: QueryDict, **choices: Any) -> str:
    """What the API is asked for the same, but for the part."""
    chosen = [(name, text) for name in ("t", "a") for text in query.getlist(name)]
    asked = [(name, value) for name, value in choices.items() if value is not None]
    return urlencode([*chosen, *asked, ("format", "csv")])


def _with(query: QueryDict, name: str, value: str) -> str:
    changed = query.copy()
    changed[name] = value
    return f"?{changed.urlencode()}"


def _without(query: QueryDict, group: Item) -> str:
    changed, name = query.copy(), group["key"][0]
    gone = {group["agent"]} if group["agent"] else {member["id"] for member in group["tournaments"]}
    changed.setlist(name, [text for text in query.getlist(name) if str(int(text)) not in gone])
    return f"?{changed.urlencode()}"


def _offered(query: QueryDict, visible: Q) -> Item:
    """What there is to choose from: what is chosen, then of those with the words that are looked for the newest."""
    words = query.get("q", "")[:MOST_TYPED].split()
    found = [Q(name__icontains=word) | Q(env_id__icontains=word) for word in words]
    page = selectors.tournament_list(visible=reduce(and_, found, visible), limit=OFFERED)
    ids = [int(text) for text in query.getlist("t") if text.isdecimal() and len(text) <= MOST_DIGITS]
    chosen = selectors.tournament_list(visible=visible & Q(pk__in=ids), limit=len(ids))["items"] if ids else []
    others = [item for item in page["items"] if int(item["id"]) not in ids]
    offered = [{**item, "chosen": True} for item in chosen] + others
    return {"offered": offered, "count": page["count"], "newest": len(page["items"]), "words": " ".join(words)}


def _table(table: Item, shown: Mapping[str, Item]) -> Item:
    return {**table, "groups": [shown[key] for key in table["groups"]]}


def _figures(environments: Sequence[Item], shown: Mapping[str, Item], axis: str) -> list[Item]:
    figures = []
    for part in environments:
        groups = [shown[key] for key in part["groups"]]
        curves = comparison_charts.curves_figure(part, groups, axis)
        figures.append({"curves": curves, "profiles": comparison_charts.profiles_figure(part, groups)})
    return figures


def _environment(part: Item, shown: Mapping[str, Item]) -> Item:
    """As the tables show it."""
    slowest = max((row["seconds"] or 0 for row in part["times"]), default=0)
    return {
        **part,
        "groups": [shown[key] for key in part["groups"]],
        "trained": any(shown[key]["kind"] != Agent.Kind.ENSEMBLE for key in part["groups"]),
        "has_curves": any(curve["x"] for curve in part["curves"].values()),
        "times": [
            {**row, "group": shown[row["group"]], "share": 100 * row["seconds"] / slowest if row["seconds"] else 0}
            for row in part["times"]
        ],
        "scores": _scores(part["scores"], shown),
        "improvement": _matrix(part, shown),
        "curves_told": [{"group": shown[key], **_curve_told(part["curves"][key])} for key in part["groups"]],
        "profiles_told": [
            {"group": shown[key], "above": _above(part["profiles"]["thresholds"], found["share"])}
            for key, found in part["profiles"]["groups"].items()
        ],
    }


def _curve_told(curve: Item) -> Item:
    """Where a curve begins, is halfway and ends, for whoever cannot see it."""
    names = ("x", "mean", "low", "high", "best")
    points = [dict(zip(names, point, strict=True)) for point in zip(*(curve[name] for name in names), strict=True)]
    return {"points": [points[0], points[len(points) // 2], points[-1]] if points else []}


def _above(thresholds: Sequence[float], shares: Sequence[float]) -> list[float]:
    """The highest returns that 90 %, 50 % and 10 % of the episodes are above, of those that are drawn."""
    whole = list(zip(thresholds, shares, strict=True))
    return [max((at for at, share in whole if share >= least), default=thresholds[0]) for least in (0.9, 0.5, 0.1)]


def _scores(rows: Sequence[Item], shown: Mapping[str, Item]) -> list[Item]:
    """The best first, with the ends of their intervals on one axis from 0 to 100."""
    low, high = min((row["low"] for row in rows), default=0.0), max((row["high"] for row in rows), default=1.0)

    def at(value: float) -> float:
        return 50.0 if high == low else 4 + 92 * (value - low) / (high - low)

    placed = [
        {**row, "group": shown[row["group"]], **{f"at_{end}": at(row[end]) for end in ("low", "value", "high")}}
        for row in rows
    ]
    return sorted(placed, key=lambda row: -row["value"])


def _matrix(part: Item, shown: Mapping[str, Item]) -> list[Item]:
    """A row for each group with its chance against each other one, None against itself."""
    chances = {(pair["better"], pair["than"]): pair for pair in part["improvement"]}
    keys = [row["group"] for row in part["scores"]] if chances else []
    return [{"group": shown[mine], "cells": [chances.get((mine, other)) for other in keys]} for mine in keys]
