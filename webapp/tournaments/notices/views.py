"""The page of one's notifications: in this browser, by webhook, and the latest."""

from collections.abc import Callable

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from podracer_core.errors import SpecError
from webapp.accounts.access import request_actor, request_user
from webapp.tournaments.models import Notice, Webhook
from webapp.tournaments.notices import selectors as notice_selectors
from webapp.tournaments.notices import webhooks
from webapp.tournaments.notices.webhook_address import MAX_LENGTH

NOTICES_SHOWN = 12


class WebhookForm(forms.Form):
    """Where a new webhook leads, and what it is told."""

    name = forms.CharField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": "for example: team chat", "autocomplete": "off"}),
    )
    url = forms.CharField(
        label="Address",
        max_length=MAX_LENGTH,
        widget=forms.TextInput(
            attrs={
                "placeholder": "https://chat.example.org/hooks/abc",
                "inputmode": "url",
                "autocomplete": "off",
                "autocapitalize": "none",
                "spellcheck": "false",
            }
        ),
    )
    events = forms.MultipleChoiceField(
        label="Tell it when a tournament",
        choices=[(Notice.Kind.ENDED, "ended"), (Notice.Kind.FAILED, "failed"), (Notice.Kind.TROUBLE, "is in trouble")],
        initial=Notice.Kind.values,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def notifications(request: HttpRequest) -> HttpResponse:
    """A POST does what its `action` names; a new webhook's secret is in the answer and nowhere else."""
    form, made, problem, status = WebhookForm(), None, "", 200
    if request.method == "POST" and request.POST.get("action") == "create":
        form = WebhookForm(request.POST)
        made = _create(request, form)
        form, status = (WebhookForm(), 201) if made else (form, 400)
    elif request.method == "POST":
        try:
            _act(request)
            return redirect("tournaments:notifications")
        except (SpecError, Webhook.DoesNotExist) as error:
            problem, status = str(error), 400
    context = {
        "form": form,
        "made": made,
        "problem": problem,
        "webhooks": notice_selectors.webhook_list(request_user(request))["items"],
        "notices": notice_selectors.notice_list(request_actor(request), limit=NOTICES_SHOWN)["items"],
    }
    return render(request, "notifications/page.html", context, status=status)


@never_cache
@require_safe
def webhook_rows(request: HttpRequest) -> HttpResponse:
    """The webhooks alone, for the page to refresh itself with while something is being sent."""
    found = notice_selectors.webhook_list(request_user(request))["items"]
    return render(request, "notifications/_webhooks.html", {"webhooks": found})


def _create(request: HttpRequest, form: WebhookForm) -> Webhook | None:
    if not form.is_valid():
        return None
    values = form.cleaned_data
    try:
        return webhooks.webhook_create(
            actor=request_actor(request),
            name=values["name"],
            url=values["url"],
            kinds=values["events"],
            site=request.build_absolute_uri("/"),
        )
    except SpecError as error:
        for field, message in error.errors:
            form.add_error(field, f"{message[:1].upper()}{message[1:]}.")
    return None


def _act(request: HttpRequest) -> None:
    """Raises SpecError for what cannot be done, Webhook.DoesNotExist."""
    deeds: dict[str, Callable[..., object]] = {
        "test": webhooks.webhook_test,
        "enable": webhooks.webhook_enable,
        "delete": webhooks.webhook_delete,
    }
    action, text = request.POST.get("action", ""), request.POST.get("webhook", "")
    if action not in deeds:
        raise SpecError([("", f"There is nothing called {action[:40]!r} to do with a webhook.")])
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise Webhook.DoesNotExist("There is no such webhook.")
    deeds[action](actor=request_actor(request), webhook_id=int(text))
