"""The form of a new tournament: offered, checked while it is typed, taken, and written down as TOML."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from podracer_core.envs import known
from podracer_core.envs.allowed_ids import allowed_ids
from podracer_core.errors import PodracerError, SpecError
from podracer_core.hyperparameters import ALGORITHMS
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import MAX_SPEC_BYTES, spec_parse, spec_parse_toml
from webapp.accounts.access import request_actor, request_user
from webapp.tournaments import access, selectors, services
from webapp.tournaments.form import environment_cards
from webapp.tournaments.form import hyperparameters as forms_hyperparameters
from webapp.tournaments.form import selectors as form_selectors
from webapp.tournaments.form.forms import TournamentForm, initial_of
from webapp.tournaments.form.presets import PRESETS, Preset, preset_find
from webapp.tournaments.form.spec_difference import differences, told
from webapp.tournaments.form.summary import summarise
from webapp.tournaments.form.typed import KIND_TITLES, default_rows
from webapp.tournaments.models import Tournament
from webapp.tournaments.spec_file import spec_toml

DEFAULT_PRESET = PRESETS[0]


@require_http_methods(["GET", "HEAD", "POST"])
def tournament_new(request: HttpRequest) -> HttpResponse:
    """The form of a new tournament: from a preset, an earlier tournament or a TOML file, else the first preset."""
    if request.method != "POST":
        return _form_offered(request)
    if request.POST.get("action") == "load":
        return _form_loaded(request)
    form, again = _form_checked(request.POST), _compared(request, request.POST)
    if form.spec is None:
        return _form_page(request, form, again=again, status=422)
    if request.POST.get("action") == "toml":
        return _toml_file(form.spec)
    tournament = services.tournament_create(
        owner=request_user(request),
        spec=form.spec,
        start=request.POST.get("action") != "draft",
        origin=told(again["name"], differences(again["spec"], form.spec.model_dump(mode="json"))) if again else "",
        source=int(again["id"]) if again else None,
    )
    return redirect("tournaments:detail", tournament.pk)


@require_POST
def preset_start(request: HttpRequest, slug: str) -> HttpResponse:
    """Start a preset as it is."""
    preset = preset_find(slug)
    if preset is None:
        raise Http404
    tournament = services.tournament_create(owner=request_user(request), spec=_preset_spec(preset), start=True)
    return redirect("tournaments:detail", tournament.pk)


@require_POST
def tournament_check(request: HttpRequest) -> JsonResponse:
    """What does not hold of the form as it stands, and what it will do, while it is typed."""
    form = _form_checked(request.POST)
    outlook = _outlook(form.spec, _compared(request, request.POST))
    return JsonResponse(
        {
            "errors": {name: [str(error) for error in errors] for name, errors in form.errors.items()},
            "rows": [row.errors for row in form.rows],
            "space": form.space_errors,
            "summary": render_to_string("tournaments/_summary.html", outlook),
            "differences": render_to_string("tournaments/_differences.html", outlook),
            "changed": [difference.field for difference in outlook["differences"] or () if difference.field],
            "toml": outlook["toml"],
        }
    )


def _form_checked(data: QueryDict) -> TournamentForm:
    """The form as it was sent, with every error that starting it would meet."""
    form = TournamentForm(data)
    if form.is_valid() and form.spec:
        try:
            services.device_check(form.spec)
        except SpecError as error:
            form.add_spec_errors(error)
            form.spec = None
    return form


def _form_offered(request: HttpRequest) -> HttpResponse:
    """The form as `?from=` or `?preset=` fill it in."""
    again = _compared(request, request.GET)
    if again:
        form = TournamentForm(spec={**again["spec"], "name": name_next(again["name"])})
        return _form_page(request, form, again=again)
    if "from" in request.GET:
        raise Http404
    preset = preset_find(request.GET.get("preset", "")) or DEFAULT_PRESET
    return _form_page(request, _preset_form(preset), preset=preset.slug)


def _preset_form(preset: Preset) -> TournamentForm:
    return TournamentForm(spec=_preset_spec(preset).model_dump(mode="json"))


def _preset_spec(preset: Preset) -> TournamentSpec:
    return spec_parse({"name": preset.name, **preset.spec})


def _compared(request: HttpRequest, data: QueryDict) -> Mapping[str, Any] | None:
    """The tournament that this one runs again with changes, None where there is none that the person sees."""
    try:
        number = int(data.get("from", ""))
        found = selectors.tournament_get(number)
    except (ValueError, OverflowError, Tournament.DoesNotExist):
        return None
    return found if access.sees(request_actor(request), number) else None


def _form_loaded(request: HttpRequest) -> HttpResponse:
    """Fill the form in from a pasted or uploaded TOML file; what is wrong with it is said above the text."""
    upload = request.FILES.get("file")
    text = request.POST.get("toml", "").encode()
    # One byte more than is read, so that a file that is too large is refused as such.
    body = upload.read(MAX_SPEC_BYTES + 1) if upload else text
    try:
        spec = spec_parse_toml(body)
    except SpecError as error:
        form = _preset_form(DEFAULT_PRESET)
        problems = [f"{dotted}: {message}" if dotted else message for dotted, message in error.errors]
        shown = body[:MAX_SPEC_BYTES].decode(errors="replace")
        return _form_page(request, form, preset=DEFAULT_PRESET.slug, status=422, pasted=shown, toml_errors=problems)
    return _form_page(request, TournamentForm(spec=spec.model_dump(mode="json")))


def _form_page(
    request: HttpRequest,
    form: TournamentForm,
    *,
    again: Mapping[str, Any] | None = None,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    env_id = form["env_id"].value() or ""
    cards = environment_cards.families(form_selectors.best_scores(), allowed_ids(), form_selectors.environments_used())
    page = {
        "section": "tournaments",
        "form": form,
        "presets": [(preset, environment_cards.picture(preset.spec["env_id"])) for preset in PRESETS],
        "families": cards,
        "count": sum(len(family) for _, _, family in cards),
        "family": environment_cards.family_of(env_id, cards),
        "chosen": environment_cards.chosen(env_id),
        "kinds": KIND_TITLES,
        "algorithms": forms_hyperparameters.described(),
        "again": again,
        "address": request.build_absolute_uri("/api/tournaments?start=true"),
        **_outlook(_spec_shown(form), again),
        **context,
    }
    return render(request, "tournaments/new.html", page, status=status)


def _spec_shown(form: TournamentForm) -> TournamentSpec | None:
    """What starting the form would start: one that was stored may not hold any more, as where a package is gone."""
    if form.is_bound:
        return form.spec
    try:
        return spec_parse(form.offered)
    except SpecError:
        return None


def _outlook(spec: TournamentSpec | None, again: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a specification will do, what it changes, and its file; None of each where it does not hold."""
    if spec is None:
        return {"summary": None, "differences": None, "toml": None}
    written = spec.model_dump(mode="json")
    paces = form_selectors.paces(spec.env_id, spec.pool.device)
    return {
        "summary": summarise(spec, paces, form_selectors.room(spec.pool.device)),
        "differences": differences(again["spec"], written) if again else None,
        "toml": spec_toml(written),
    }


def _toml_file(spec: TournamentSpec) -> HttpResponse:
    return HttpResponse(
        spec_toml(spec.model_dump(mode="json")),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="spec.toml"'},
    )


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
    initial = initial_of(spec.model_dump(mode="json"))
    # Of every algorithm: the page shows those that are chosen, and adds them as others are.
    rows = [row for algorithm in ALGORITHMS for row in default_rows(algorithm, entry)]
    return JsonResponse(
        {
            "about": environment_cards.about(entry),
            "picture": environment_cards.picture(env_id),
            "initials": environment_cards.initials(env_id),
            "fields": {name: initial[name] for name in ("stop_score", "round_env_steps", "stop_pods")},
            "algorithms": {name: forms_hyperparameters.misfit(name, entry) for name in ALGORITHMS},
            "rows": [{"algorithm": r.algorithm, "name": r.name, "kind": r.kind, "values": r.values} for r in rows],
            "suggestions": {name: forms_hyperparameters.suggestions(name, entry) for name in ALGORITHMS},
        }
    )


def name_next(name: str) -> str:
    """A name for the next try: ant sprint -> ant sprint 2 -> ant sprint 3."""
    stem, _, last = name.rpartition(" ")
    if stem and last.isdecimal() and len(last) < 6:
        return f"{stem} {int(last) + 1}"
    return f"{name[:110]} 2"
