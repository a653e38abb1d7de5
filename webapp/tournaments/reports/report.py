"""What a report of a tournament tells: put together from the reads that its pages and the API make."""

import platform
import tomllib
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from django.conf import settings
from django.db.models import Count

from podracer_core.spec import TournamentSpec
from podracer_core.tournament import sentences
from webapp.tournaments import agent_selectors, selectors
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.insights import insights
from webapp.tournaments.models import Pod
from webapp.tournaments.reports.figure import report_figure
from webapp.tournaments.reports.spec_words import space_words, spec_words

Item = dict[str, Any]

CURVE_POINTS = 8_000
"""Of all curves together: the page is kept and sent."""

BOARD_LINES = 12
LINE_ENDS = 4
IMPORTANCES = 5
REASONS = 3


def report_get(tournament_id: int) -> Item:
    """Everything on the page. Raises Tournament.DoesNotExist."""
    tournament = selectors.tournament_get(tournament_id)
    board = selectors.leaderboard_list(tournament_id)
    spec = TournamentSpec.model_validate(tournament["spec"])
    best = tournament["best_agent"]
    champion = agent_selectors.agent_get(int(best)) if best else None
    curves = curve_selectors.tournament_curves(tournament_id, points=CURVE_POINTS)
    return {
        "tournament": tournament,
        "began": _told(tournament["started_at"]),
        "ended": _told(tournament["finished_at"]),
        "words": spec_words(spec),
        "searched": _searched(spec, champion),
        "seed": spec.seed,
        "champion": champion,
        "line": _line(champion["ancestry"]) if champion else [],
        "board": board["items"][:BOARD_LINES],
        "more": max(0, board["count"] - BOARD_LINES),
        "figure": report_figure(curves, board["items"], tournament["target_score"]),
        "importances": _importances(tournament_id),
        "failures": _failures(tournament_id),
        "versions": versions(),
    }


def _told(moment: str | None) -> str:
    """In UTC, since the page is read elsewhere and later."""
    if moment is None:
        return ""
    found = datetime.fromisoformat(moment).astimezone(UTC)
    return f"{found.day} {found:%B %Y, %H:%M} UTC"


def _searched(spec: TournamentSpec, champion: Item | None) -> list[Item]:
    """Each hyperparameter that was searched, with what the champion has of it."""
    rows = []
    for part in spec.algorithms:
        own = champion is not None and champion["algorithm"] == part.name
        has = {**champion["hyperparameters"], insights.NUM_ENVS: champion["num_envs"]} if champion and own else {}
        spaces = {**spec.search_space(part.name), insights.NUM_ENVS: spec.num_envs_space(part.name)}
        for name, space in spaces.items():
            if space.kind != "fixed":
                value = sentences.setting(has[name]) if has.get(name) is not None else None
                rows.append({"algorithm": part.name, "name": name, "space": space_words(space), "champion": value})
    return rows


def _line(ancestry: list[Item]) -> list[Item]:
    """The first and the last of a long line, and between them how many are left out."""
    left = len(ancestry) - 2 * LINE_ENDS
    if left <= 1:
        return ancestry
    return [*ancestry[:LINE_ENDS], {"left": left}, *ancestry[-LINE_ENDS:]]


def _importances(tournament_id: int) -> list[Item]:
    """Of each algorithm what mattered most, or why that cannot be told."""
    return [
        {
            "algorithm": found["name"],
            "problem": found["importance"]["problem"],
            "items": found["importance"]["items"][:IMPORTANCES],
        }
        for found in insights.hyperparameters_get(tournament_id)["algorithms"]
    ]


def _failures(tournament_id: int) -> list[Item]:
    """The commonest reasons of failed pods."""
    failed = Pod.objects.filter(tournament_id=tournament_id, status=Pod.Status.FAILED)
    rows = failed.values_list("reason").annotate(pods=Count("pk")).order_by("-pods", "reason")
    return [{"reason": reason, "pods": pods} for reason, pods in rows[:REASONS]]


@cache
def versions() -> dict[str, str]:
    """Of this server; its workers have the same."""
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())
    found = {"Podracer": str(project["project"]["version"]), "Python": platform.python_version()}
    return found | {"PyTorch": version("torch"), "Gymnasium": version("gymnasium")}
