"""The page of what takes space."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.accounts.access import request_actor
from webapp.tournaments import access
from webapp.tournaments.keeping import disk
from webapp.tournaments.keeping import selectors as storage_selectors


@require_safe
def storage(request: HttpRequest) -> HttpResponse:
    """What the files of each tournament take, the largest first, and for admins what is left."""
    actor = request_actor(request)
    context = {
        "section": "storage",
        **storage_selectors.usage(access.visible(actor)),
        "disk": disk.disk_lately(),
        "database_size": storage_selectors.database_size() if actor.administers else None,
    }
    return render(request, "storage.html", context)
