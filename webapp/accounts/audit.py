"""The audit log: each deed in a sentence, written in the transaction of the deed."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from webapp.accounts.access import Actor, actor_now
from webapp.accounts.models import AuditEntry

COLUMNS = ("at", "person", "token", "address", "kind", "text", "tournament")


def record(kind: str, text: str, *, tournament_id: int | None = None, actor: Actor | None = None) -> None:
    """Say what was done; by whoever acts now unless told otherwise."""
    actor = actor or actor_now()
    AuditEntry.objects.create(
        actor=actor.user,
        actor_name=actor.name[:150],
        token_name=actor.token_name,
        address=actor.address[:45],
        kind=kind,
        text=text,
        tournament_id=tournament_id,
    )


def record_once(
    kind: str, text: str, *, tournament_id: int | None = None, within: timedelta = timedelta(minutes=1)
) -> None:
    """As `record`, unless the same person did the same lately: a download comes in many parts."""
    since = timezone.now() - within
    known = AuditEntry.objects.filter(kind=kind, text=text, actor_name=actor_now().name, at__gt=since)
    if not known.exists():
        record(kind, text, tournament_id=tournament_id)


def entries(*, person: str = "", kind: str = "", tournament_id: int | None = None) -> QuerySet[AuditEntry]:
    """The newest first."""
    rows = AuditEntry.objects.order_by("-pk")
    if person:
        rows = rows.filter(actor_name=person)
    if kind:
        rows = rows.filter(kind=kind)
    return rows if tournament_id is None else rows.filter(tournament_id=tournament_id)


def choices() -> dict[str, list[str]]:
    """The persons and kinds that there are entries of."""
    rows = AuditEntry.objects.order_by()
    return {
        "people": sorted(name for name in rows.values_list("actor_name", flat=True).distinct() if name),
        "kinds": sorted(rows.values_list("kind", flat=True).distinct()),
    }


def entry_item(row: AuditEntry) -> dict[str, Any]:
    values = (row.at.isoformat(), row.actor_name, row.token_name, row.address, row.kind, row.text)
    return dict(zip(COLUMNS, (*values, None if row.tournament_id is None else str(row.tournament_id)), strict=True))


def csv_rows(rows: QuerySet[AuditEntry]) -> Iterator[list[str]]:
    """For a spreadsheet, in which no text is taken for a formula."""
    yield list(COLUMNS)
    for row in rows.iterator(1_000):
        yield [_cell(value) for value in entry_item(row).values()]


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
