"""The report of a tournament: one page, to print or to share."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from webapp.tournaments.models import Tournament
from webapp.tournaments.reports import report


@require_safe
def tournament_report(request: HttpRequest, tournament_id: int) -> HttpResponse:
    """What was searched and what came of it; of one that goes on, as far as it is."""
    try:
        found = report.report_get(tournament_id)
    except Tournament.DoesNotExist:
        raise Http404 from None
    champion = found["champion"]
    address = reverse("tournaments:agent", args=[champion["id"]]) if champion else ""
    context = {
        "section": "tournaments",
        **found,
        "going_on": found["tournament"]["status"] not in Tournament.ENDED,
        "agent_address": request.build_absolute_uri(address),
    }
    return render(request, "tournaments/report.html", context)
