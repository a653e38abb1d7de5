"""The pages: guard, read or write once, answer."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from podracer_core.hyperparameters import ALGORITHMS
from podracer_core.spec import MAX_ENSEMBLE, TournamentSpec
from podracer_core.tournament import sentences
from webapp.accounts.access import request_actor
from webapp.tournaments import access, agent_selectors, charts, listing, selectors
from webapp.tournaments.artefacts import views as artefact_views
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.form import environment_cards
from webapp.tournaments.form.presets import PRESETS
from webapp.tournaments.insights import insights
from webapp.tournaments.models import Agent, Artefact, Tournament
from webapp.tournaments.spec_file import spec_toml

PAGE_SIZE = 24


@require_safe
def tournament_list(request: HttpRequest) -> HttpResponse:
    """Tournaments as cards; where there are none, what to start with one click."""
    presets = [(preset, environment_cards.picture(preset.spec["env_id"])) for preset in PRESETS]
    visible = access.visible(request_actor(request))
    context = {**_cards(request), "presets": presets, "sorts": listing.SORTS.items()}
    context["statuses"] = Tournament.Status.values
    context["environments"] = listing.environments(visible, context["archived"])
    if not context["count"] and not context["archived"] and not context["wanted"].leaves_out:
        context["empty"] = not selectors.archived_exist(visible)
    return render(request, "tournaments/list.html", context)


@require_safe
def tournament_cards(request: HttpRequest) -> HttpResponse:
    """The cards alone, for the page to refresh itself with."""
    return render(request, "tournaments/_cards.html", _cards(request))


def _cards(request: HttpRequest) -> dict[str, Any]:
    text = request.GET.get("offset", "0")
    offset = int(text) if text.isdecimal() and len(text) < 10 else 0
    archived, visible = request.GET.get("archived") == "1", access.visible(request_actor(request))
    wanted = listing.Wanted.of(request.GET.dict())
    page = selectors.tournament_list(visible=visible, archived=archived, wanted=wanted, limit=PAGE_SIZE, offset=offset)
    older = offset + PAGE_SIZE if offset + PAGE_SIZE < page["count"] else None
    newer = max(0, offset - PAGE_SIZE) if offset else None
    asked = "".join(f"&{part}" for part in ("archived=1" if archived else "", wanted.query) if part)
    shown = {"offset": offset, "older": older, "newer": newer, "archived": archived, "asked": asked, "wanted": wanted}
    return {"section": "tournaments", **page, **shown}


@require_safe
def slots(request: HttpRequest) -> HttpResponse:
    """How many slots are online, for the header to refresh itself with."""
    return render(request, "_slots.html")


@require_safe
def tournament_detail(request: HttpRequest, tournament_id: int) -> HttpResponse:
    """One tournament, live."""
    try:
        snapshot = selectors.page(tournament_id)
    except Tournament.DoesNotExist:
        raise Http404 from None
    tournament = snapshot["tournament"]
    best = tournament["best_agent"]
    context = {
        "section": "tournaments",
        "tournament": tournament,
        "num_envs": _num_envs(tournament["spec"]),
        "most_members": MAX_ENSEMBLE,
        "source": selectors.source_of(tournament_id, access.visible(request_actor(request))),
        "ended": tournament["status"] in Tournament.ENDED,
        "snapshot": snapshot,
        "ancestry": agent_selectors.ancestors_get(int(best)) if best else [],
    }
    return render(request, "tournaments/detail.html", context)


def _num_envs(spec: Mapping[str, Any]) -> str:
    """How many environments a pod steps at once: one number, or from the fewest to the most of its algorithms."""
    parsed = TournamentSpec.model_validate(spec)
    counts = sorted({int(count) for part in parsed.algorithms for count in parsed.num_envs_space(part.name).extremes})
    text = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{text} environment{'' if counts == [1] else 's'}"


@require_safe
def tournament_spec(request: HttpRequest, tournament_id: int) -> HttpResponse:
    """The specification as a TOML file, to keep or to start again from."""
    try:
        tournament = selectors.tournament_get(tournament_id)
    except Tournament.DoesNotExist:
        raise Http404 from None
    return HttpResponse(
        spec_toml(tournament["spec"]),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="tournament-{tournament_id}.toml"'},
    )


@require_safe
def agent_detail(request: HttpRequest, agent_id: int) -> HttpResponse:
    """One agent: how it learned, what it is made of, where it comes from, and how to play it; or an ensemble."""
    try:
        agent = agent_selectors.agent_get(agent_id)
        curve = curve_selectors.agent_curve(agent_id)
    except Agent.DoesNotExist:
        raise Http404 from None
    if agent["kind"] == Agent.Kind.ENSEMBLE:
        return _ensemble_detail(request, agent)
    color = "--accent" if agent["color"] is None else f"--chip-{agent['color'] % 12}"
    columns = charts.curve_columns(curve)
    context = {
        "section": "tournaments",
        "agent": agent,
        "hyperparameters": _hyperparameters_shown(agent),
        "exports": artefact_views.parts(agent["id"], Artefact.Kind.EXPORT, agent["checkpoint"]),
        "replays": artefact_views.parts(agent["id"], Artefact.Kind.REPLAY, agent["checkpoint"]),
        "columns": [(name, charts.column_title(name)) for name in columns],
        "page": {
            "agent": agent,
            "curve": curve,
            "figure": charts.agent_figure(curve, columns[0], color),
            "schedule": insights.schedule_get(agent_id),
        },
    }
    return render(request, "tournaments/agent.html", context)


def _ensemble_detail(request: HttpRequest, agent: Mapping[str, Any]) -> HttpResponse:
    """An ensemble: what it and its members are worth, and how to play it."""
    context = {
        "section": "tournaments",
        "agent": agent,
        "better": _better(agent["beats_best_member"]),
        "votes": any(member["algorithm"] == "dqn" for member in agent["members"]),
        "replays": artefact_views.parts(agent["id"], Artefact.Kind.REPLAY, agent["checkpoint"]),
        "page": {"agent": agent},
    }
    return render(request, "tournaments/ensemble.html", context)


def _better(ensemble: float | None) -> dict[str, str] | None:
    """Who of the two is the better one, and how sure that is. ensemble: how probable it is that the ensemble is"""
    if ensemble is None:
        return None
    who = "the ensemble" if ensemble >= 0.5 else "it"
    return {"who": who, "certainty": sentences.certainty(max(ensemble, 1 - ensemble))}


def _hyperparameters_shown(agent: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Name, value, and the parent's value where it was another; what changed comes first."""
    changes, values = agent["changes"] or {}, {**agent["hyperparameters"], "num_envs": agent["num_envs"]}
    shown = [
        {"name": name, "value": values[name], "was": changes[name][0] if name in changes else None}
        for name in (*ALGORITHMS[agent["algorithm"]].model_fields, "num_envs")
        if name in values
    ]
    return sorted(shown, key=lambda item: item["name"] not in changes)
