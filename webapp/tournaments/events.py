"""What a tournament's viewers are told: group names, revisions and the publisher.

Every message raises the tournament's revision by one, so that a consumer can tell when it missed one.
"""

from typing import Any

from django.db import connection, transaction

from webapp.accounts.notices import ACCESS_TYPE
from webapp.publisher import publisher
from webapp.tournaments.models import Agent, Event, Pod

MESSAGE_TYPE = "tournament.message"
"""The Channels handler name of every message."""


def group_name(tournament_id: int) -> str:
    """The channel group of a tournament's viewers."""
    return f"tournament.{tournament_id}"


def publish(tournament_id: int, kind: str, key: int | None = None, data: dict[str, Any] | None = None) -> None:
    """Tell the viewers, once the transaction has committed, that something of `kind` changed.

    kind: status, leaderboard, pod, event or curve
    key: which pod or event; the consumer reads it, so that it always sends the newest
    data: what cannot be read again, as curve points
    """
    revision = _next_revision(tournament_id)
    if revision is None:
        return
    message = {"type": MESSAGE_TYPE, "revision": revision, "kind": kind, "key": key, "data": data}
    transaction.on_commit(lambda: publisher.send(group_name(tournament_id), message))


def _next_revision(tournament_id: int) -> int | None:
    """The tournament's raised revision, None when it is gone. One statement, so that no two callers get the same."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tournaments_tournament SET revision = revision + 1 WHERE id = %s RETURNING revision",
            [tournament_id],
        )
        row = cursor.fetchone()
    return int(row[0]) if row else None


def record(tournament_id: int, kind: str, text: str, *, agent: Agent | None = None, pod: Pod | None = None) -> Event:
    """Store an event and tell the viewers."""
    event = Event.objects.create(tournament_id=tournament_id, kind=kind, text=text, agent=agent, pod=pod)
    publish(tournament_id, "event", event.pk)
    return event


def publish_deleted(tournament_id: int) -> None:
    """Tell the viewers that the tournament is gone."""
    message = {"type": MESSAGE_TYPE, "revision": 0, "kind": "deleted", "key": None, "data": None}
    transaction.on_commit(lambda: publisher.send(group_name(tournament_id), message))


def publish_access(tournament_id: int) -> None:
    """Have the sockets of its viewers look whether each still may see the tournament."""
    message = {"type": ACCESS_TYPE}
    transaction.on_commit(lambda: publisher.send(group_name(tournament_id), message))
