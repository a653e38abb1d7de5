"""The pages: guard, read or write once, answer."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from podracer_core.envs import catalogue, known
from podracer_core.errors import PodracerError, SpecError
from podracer_core.hyperparameters import ALGORITHMS, algorithm_problem, sees_images
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import MAX_SPEC_BYTES, spec_parse, spec_parse_toml
from webapp.tournaments import artefact_views, charts, forms, selectors, services
from webapp.tournaments.models import Agent, Artefact, Tournament
from webapp.tournaments.presets import PRESETS, preset_find
from webapp.tournaments.spec_file import spec_toml

PAGE_SIZE = 24
DEFAULT_PRESET = PRESETS[0]


@require_safe
def tournament_list(request: HttpRequest) -> HttpResponse:
    """All tournaments as cards, the newest first."""
    return render(request, "tournaments/list.html", _cards(request))


@require_safe
def tournament_cards(request: HttpRequest) -> HttpResponse:
    """The cards alone, for the page to refresh itself with."""
    return render(request, "tournaments/_cards.html", _cards(request))


def _cards(request: HttpRequest) -> dict[str, Any]:
    text = request.GET.get("offset", "0")
    offset = int(text) if text.isdecimal() and len(text) < 10 else 0
    page = selectors.tournament_list(limit=PAGE_SIZE, offset=offset)
    older = offset + PAGE_SIZE if offset + PAGE_SIZE < page["count"] else None
    newer = max(0, offset - PAGE_SIZE) if offset else None
    return {"section": "tournaments", **page, "offset": offset, "older": older, "newer": newer}


@require_safe
def slots(request: HttpRequest) -> HttpResponse:
    """How many slots are online, for the header to refresh itself with."""
    return render(request, "_slots.html")


@require_http_methods(["GET", "HEAD", "POST"])
def tournament_new(request: HttpRequest) -> HttpResponse:
    """The form of a new tournament: from a preset, an earlier tournament or a TOML file, else the first preset."""
    if request.method != "POST":
        form, preset = _form_offered(request.GET)
        return _form_page(request, form, preset=preset)
    if request.POST.get("action") == "load":
        return _form_loaded(request)
    form = forms.TournamentForm(request.POST)
    if form.is_valid() and form.spec:
        try:
            tournament = services.tournament_create(
                owner=_user(request), spec=form.spec, start=request.POST.get("action") != "draft"
            )
            return redirect("tournaments:detail", tournament.pk)
        except SpecError as error:
            form.add_spec_errors(error)
    return _form_page(request, form, status=422)


def _form_offered(query: QueryDict) -> tuple[forms.TournamentForm, str]:
    """The form as `?from=` or `?preset=` fill it in, and the preset's slug."""
    if "from" in query:
        try:
            item = selectors.tournament_get(int(query.get("from", "")))
        except (ValueError, OverflowError, Tournament.DoesNotExist):
            raise Http404 from None
        return forms.TournamentForm(spec={**item["spec"], "name": name_next(item["name"])}), ""
    preset = preset_find(query.get("preset", "")) or DEFAULT_PRESET
    spec = spec_parse({"name": preset.name, **preset.spec})
    return forms.TournamentForm(spec=spec.model_dump(mode="json")), preset.slug


def _form_loaded(request: HttpRequest) -> HttpResponse:
    """Fill the form in from a pasted or uploaded TOML file; what is wrong with it is said above the text."""
    upload = request.FILES.get("file")
    text = request.POST.get("toml", "").encode()
    # One byte more than is read, so that a file that is too large is refused as such.
    body = upload.read(MAX_SPEC_BYTES + 1) if upload else text
    try:
        spec = spec_parse_toml(body)
    except SpecError as error:
        form, preset = _form_offered(QueryDict())
        problems = [f"{dotted}: {message}" if dotted else message for dotted, message in error.errors]
        shown = body[:MAX_SPEC_BYTES].decode(errors="replace")
        return _form_page(request, form, preset=preset, status=422, toml=shown, toml_errors=problems)
    return _form_page(request, forms.TournamentForm(spec=spec.model_dump(mode="json")))


def _form_page(request: HttpRequest, form: forms.TournamentForm, *, status: int = 200, **context: Any) -> HttpResponse:
    return render(
        request,
        "tournaments/new.html",
        {
            "section": "tournaments",
            "form": form,
            "presets": PRESETS,
            "environments": catalogue.catalogue_list(),
            "kinds": forms.KIND_TITLES,
            "algorithms": {name: hyperparameters(name) for name in ALGORITHMS},
            **context,
        },
        status=status,
    )


def hyperparameters(algorithm: str) -> list[dict[str, str]]:
    """Names and meanings, for the form's list."""
    named = {name: info.description or "" for name, info in ALGORITHMS[algorithm].model_fields.items()}
    named["num_envs"] = "environments that a pod steps at once"
    return [{"name": name, "about": about} for name, about in named.items()]


@require_GET
def environment_defaults(request: HttpRequest) -> JsonResponse:
    """What the form fills in for an environment, or the sentence that says why it cannot be used."""
    env_id = request.GET.get("env_id", "")[:200]
    try:
        entry = known.environment_check(env_id)
        spec = spec_parse({"env_id": env_id})
    except PodracerError as error:
        message = error.errors[0][1] if isinstance(error, SpecError) else str(error)
        return JsonResponse({"error": message}, status=422)
    initial = forms.initial_of(spec.model_dump(mode="json"))
    # Of every algorithm: the page shows those that are chosen, and adds them as others are.
    rows = [row for algorithm in ALGORITHMS for row in forms.default_rows(algorithm, entry)]
    return JsonResponse(
        {
            "about": environment_about(entry),
            "fields": {name: initial[name] for name in ("stop_score", "round_env_steps", "stop_pods")},
            "algorithms": [name for name in ALGORITHMS if _fits(name, entry)],
            "rows": [{"algorithm": r.algorithm, "name": r.name, "kind": r.kind, "values": r.values} for r in rows],
        }
    )


def _fits(algorithm: str, entry: catalogue.CatalogueEntry) -> bool:
    return algorithm_problem(algorithm, entry.action_kind) is None and (
        sees_images(algorithm) or entry.observation_space.image is None
    )


def environment_about(entry: catalogue.CatalogueEntry) -> str:
    """An environment in a sentence."""
    image = entry.observation_space.image
    if image:
        inputs = f"images of {image.height} x {image.width} pixels in"
    else:
        inputs = f"{entry.observation_dim} number{'s' if entry.observation_dim != 1 else ''} in"
    if entry.action_kind == "discrete":
        outputs = f"{entry.action_dim} actions"
    elif entry.action_kind == "multidiscrete":
        count = len(entry.action_space.choices)
        outputs = f"{count} choice{'s' if count != 1 else ''} at once"
    else:
        outputs = f"{entry.action_dim} continuous action{'s' if entry.action_dim != 1 else ''}"
    limit = f"at most {entry.max_episode_steps:,} steps" if entry.max_episode_steps else "no time limit"
    solved = f"solved at {entry.solved_score:g}" if entry.solved_score is not None else "no score counts as solved"
    return f"{inputs}, {outputs}, {limit}, {solved}."


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
        "ended": tournament["status"] in Tournament.ENDED,
        "snapshot": snapshot,
        "ancestry": selectors.agent_get(int(best))["ancestry"] if best else [],
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
    """One agent: how it learned, what it is made of, where it comes from, and how to play it."""
    try:
        agent = selectors.agent_get(agent_id)
        curve = selectors.agent_curve(agent_id)
    except Agent.DoesNotExist:
        raise Http404 from None
    color = "--accent" if agent["color"] is None else f"--chip-{agent['color'] % 12}"
    columns = charts.curve_columns(curve)
    context = {
        "section": "tournaments",
        "agent": agent,
        "hyperparameters": _hyperparameters_shown(agent),
        "exports": artefact_views.parts(agent["id"], Artefact.Kind.EXPORT, agent["checkpoint"]),
        "replays": artefact_views.parts(agent["id"], Artefact.Kind.REPLAY, agent["checkpoint"]),
        "columns": [(name, charts.column_title(name)) for name in columns],
        "page": {"agent": agent, "curve": curve, "figure": charts.agent_figure(curve, columns[0], color)},
    }
    return render(request, "tournaments/agent.html", context)


def _hyperparameters_shown(agent: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Name, value, and the parent's value where it was another; what changed comes first."""
    changes, values = agent["changes"] or {}, {**agent["hyperparameters"], "num_envs": agent["num_envs"]}
    shown = [
        {"name": name, "value": values[name], "was": changes[name][0] if name in changes else None}
        for name in (*ALGORITHMS[agent["algorithm"]].model_fields, "num_envs")
        if name in values
    ]
    return sorted(shown, key=lambda item: item["name"] not in changes)


def name_next(name: str) -> str:
    """A name for the next try: ant sprint -> ant sprint 2 -> ant sprint 3."""
    stem, _, last = name.rpartition(" ")
    if stem and last.isdecimal() and len(last) < 6:
        return f"{stem} {int(last) + 1}"
    return f"{name[:110]} 2"


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # SignInRequiredMiddleware lets nobody else in
    return request.user
