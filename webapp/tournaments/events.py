"""What a tournament's viewers are told: group names, revisions and the publisher.

What one transaction changes of a tournament is one message, which raises its revision by one, so that a consumer can
tell when it missed one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from webapp.accounts.notices import ACCESS_TYPE
from webapp.publisher import publisher
from webapp.tournaments import rows
from webapp.tournaments.models import Agent, Event, Pod, Tournament

MESSAGE_TYPE = "tournament.message"
"""The Channels handler name of every message."""

DELETED = "deleted"
"""The kind of the last change."""


def group_name(tournament_id: int) -> str:
    """The channel group of a tournament's viewers."""
    return f"tournament.{tournament_id}"


def publish(tournament_id: int, kind: str, key: int | None = None, data: dict[str, Any] | None = None) -> None:
    """Tell the viewers, once the transaction has committed, that something of `kind` changed.

    kind: status, leaderboard, pod, event or curve
    key: which pod or event; the consumer reads it, so that it always sends the newest
    data: what cannot be read again, as curve points
    """
    said = change(kind, key, data)
    message = _pending(tournament_id)
    if message is None:
        revision = _next_revision(tournament_id)
        if revision is not None:
            transaction.on_commit(Message(tournament_id, revision, [said]))
    elif said not in message.changes:
        message.changes.append(said)


def change(kind: str, key: int | None = None, data: dict[str, Any] | None = None) -> dict[str, Any]:
    """One of a message's changes, see `publish`."""
    return {"kind": kind, "key": key, "data": data}


def gather(tournament: Tournament) -> "Message":
    """The message of the present transaction, which holds the tournament's row locked and writes its raised revision
    if anything was published by its end."""
    message = Message(tournament.pk, tournament.revision + 1, [], tournament)
    transaction.on_commit(message)
    return message


@dataclass(frozen=True, slots=True)
class Message:
    """What a transaction has changed of a tournament; called, it is sent. locked: by `orchestrator.changing`"""

    tournament_id: int
    revision: int
    changes: list[dict[str, Any]]
    locked: Tournament | None = None

    def __call__(self) -> None:
        if self.changes:
            publisher.send(
                group_name(self.tournament_id), MESSAGE_TYPE, {"revision": self.revision, "changes": self.changes}
            )


def _pending(tournament_id: int) -> Message | None:
    """The message that waits for the present transaction to commit, if any. A rollback has Django forget it."""
    waiting: Iterator[object] = (entry[1] for entry in reversed(connection.run_on_commit))
    found = (one for one in waiting if isinstance(one, Message) and one.tournament_id == tournament_id)
    return next(found, None)


def _next_revision(tournament_id: int) -> int | None:
    """The tournament's raised revision, None when it is gone. One statement, so that no two callers get the same."""
    row = rows.fetch_one(
        "UPDATE tournaments_tournament SET revision = revision + 1 WHERE id = %s RETURNING revision", [tournament_id]
    )
    return int(row[0]) if row else None


def record(
    tournament_id: int,
    kind: str,
    text: str,
    *,
    agent: Agent | None = None,
    pod: Pod | None = None,
    data: dict[str, Any] | None = None,
) -> Event:
    """Store an event and tell the viewers. data: the same for programs, see event_data.py"""
    event = Event(tournament_id=tournament_id, kind=kind, text=text, agent=agent, pod=pod, data=data or {})
    message = _pending(tournament_id)
    locked = message.locked if message else None
    rows.insert(event, reserved=locked.key_for(Event) if locked else None)
    publish(tournament_id, "event", event.pk)
    if locked:
        locked.events_recorded += 1
    else:
        rows.execute(_COUNT, [tournament_id])
    return event


_COUNT = "UPDATE tournaments_tournament SET events_recorded = events_recorded + 1 WHERE id = %s"


def publish_deleted(tournament_id: int) -> None:
    """Tell the viewers that the tournament is gone."""
    message = {"revision": 0, "changes": [{"kind": DELETED, "key": None, "data": None}]}
    transaction.on_commit(lambda: publisher.send(group_name(tournament_id), MESSAGE_TYPE, message))


def publish_access(tournament_id: int) -> None:
    """Have the sockets of its viewers look whether each still may see the tournament."""
    transaction.on_commit(lambda: publisher.send(group_name(tournament_id), ACCESS_TYPE))
