"""The audit log as a page and as CSV, for admins."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.accounts import audit
from webapp.accounts.models import AuditEntry
from webapp.tournaments.downloads import download_text

PAGE_SIZE = 50


@never_cache
@require_safe
def audit_log(request: HttpRequest) -> HttpResponse:
    """The newest first, by page, of one person or kind where asked."""
    query = _query(request)
    text = request.GET.get("before", "")
    rows = _chosen(query)
    if text.isascii() and text.isdecimal() and len(text) < 19:
        rows = rows.filter(pk__lt=int(text))
    page = list(rows[: PAGE_SIZE + 1])
    context = {
        "section": "audit",
        "entries": page[:PAGE_SIZE],
        "older": page[PAGE_SIZE - 1].pk if len(page) > PAGE_SIZE else None,
        **query,
        **audit.choices(),
    }
    return render(request, "accounts/audit.html", context)


@never_cache
@require_safe
def audit_csv(request: HttpRequest) -> StreamingHttpResponse:
    """All that the page would show, on every of its pages."""
    lines = _csv_lines(_chosen(_query(request)))
    return download_text(request, lines, filename="audit.csv", content_type="text/csv; charset=utf-8")


def _query(request: HttpRequest) -> dict[str, Any]:
    return {name: request.GET.get(name, "")[:150].replace("\x00", "") for name in ("person", "kind")}


def _chosen(query: dict[str, Any]) -> QuerySet[AuditEntry]:
    return audit.entries(person=query["person"], kind=query["kind"])


def _csv_lines(rows: QuerySet[AuditEntry]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    for row in audit.csv_rows(rows):
        writer.writerow(row)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
