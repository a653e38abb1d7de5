"""Reads of notices and webhooks."""

from django.contrib.auth.models import User
from django.db.models import OuterRef, Q, Subquery

from webapp.accounts.access import Actor
from webapp.tournaments import access
from webapp.tournaments.models import Delivery, Notice, Tournament, Webhook
from webapp.tournaments.selectors import Item


def notice_list(actor: Actor, *, since: int = 0, limit: int, offset: int = 0) -> Item:
    """Of what `actor` may see, with ids above `since`, the newest first."""
    seen = Q(tournament__in=Tournament.objects.filter(access.visible(actor)).values("pk"))
    if actor.sees_all:
        seen |= Q(tournament=None)
    rows = Notice.objects.filter(seen, pk__gt=since).select_related("tournament").order_by("-pk")
    return {"items": [_notice(row, actor) for row in rows[offset : offset + limit]], "count": rows.count()}


def _notice(row: Notice, actor: Actor) -> Item:
    tournament = row.tournament
    return {
        "id": str(row.pk),
        "at": row.at.isoformat(),
        "kind": row.kind,
        "text": row.text,
        "tournament": str(tournament.pk) if tournament else None,
        "tournament_name": tournament.name if tournament else None,
        "mine": tournament is None or tournament.owner_id == (actor.user.pk if actor.user else None),
    }


def webhook_list(owner: User, *, limit: int = 100, offset: int = 0) -> Item:
    """With what came of the last delivery of each, the newest first."""
    newest = Delivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    found = Webhook.objects.filter(owner=owner)
    rows = list(found.annotate(newest=Subquery(newest)).order_by("-pk")[offset : offset + limit])
    last = Delivery.objects.in_bulk([row.newest for row in rows if row.newest])
    return {"items": [webhook_item(row, last.get(row.newest)) for row in rows], "count": found.count()}


def webhook_item(row: Webhook, last: Delivery | None = None) -> Item:
    return {
        "id": str(row.pk),
        "name": row.name,
        "url": row.url,
        "events": row.kinds,
        "created_at": row.created_at.isoformat(),
        "disabled": row.disabled_reason or None,
        "last_delivery": delivery_item(last) if last else None,
    }


def delivery_item(row: Delivery) -> Item:
    return {
        "id": str(row.key),
        "test": row.notice_id is None,
        "status": row.status,
        "attempts": row.attempts,
        "result": row.result,
        "at": (row.tried_at or row.created_at).isoformat(),
    }
