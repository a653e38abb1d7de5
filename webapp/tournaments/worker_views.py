"""The page of the workers."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.tournaments import worker_selectors


@require_safe
def worker_list(request: HttpRequest) -> HttpResponse:
    """All workers as cards: what they are, how busy they are, what they run."""
    return render(request, "workers/list.html", {"section": "workers", **worker_selectors.fleet()})


@require_safe
def worker_cards(request: HttpRequest) -> HttpResponse:
    """What changes of the page, for it to refresh itself with."""
    return render(request, "workers/_cards.html", worker_selectors.fleet())
