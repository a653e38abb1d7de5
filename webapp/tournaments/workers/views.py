"""The page of the workers."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.accounts.access import request_actor
from webapp.tournaments import access
from webapp.tournaments.workers import selectors as worker_selectors


@require_safe
def worker_list(request: HttpRequest) -> HttpResponse:
    """All workers as cards: what they are, how busy they are, what they run."""
    return render(request, "workers/list.html", {"section": "workers", **_fleet(request)})


@require_safe
def worker_cards(request: HttpRequest) -> HttpResponse:
    """What changes of the page, for it to refresh itself with."""
    return render(request, "workers/_cards.html", _fleet(request))


def _fleet(request: HttpRequest) -> dict[str, Any]:
    return worker_selectors.fleet(access.visible(request_actor(request)))
