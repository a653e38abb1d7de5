"""What a tournament's viewers are told: group names, revisions and the publisher.

What one transaction changes of a tournament is one message, which raises its revision by one, so that a consumer can
tell when it missed one.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from channels.layers import get_channel_layer
from django.db import connection, transaction

from webapp.tournaments import rows
from webapp.tournaments.models import Agent, Event, Pod, Tournament

logger = logging.getLogger(__name__)

MESSAGE_TYPE = "tournament.message"
"""The Channels handler name of every message."""

DELETED = "deleted"
"""The kind of the last change."""

BACKLOG = 1000
"""Messages that may wait for a broker that is away; later ones are dropped, and their revision shows it."""


def group_name(tournament_id: int) -> str:
    """The channel group of a tournament's viewers."""
    return f"tournament.{tournament_id}"


def publish(tournament_id: int, kind: str, key: int | None = None, data: dict[str, Any] | None = None) -> None:
    """Tell the viewers, once the transaction has committed, that something of `kind` changed.

    kind: status, leaderboard, pod, event or curve
    key: which pod or event; the consumer reads it, so that it always sends the newest
    data: what cannot be read again, as curve points
    """
    change = {"kind": kind, "key": key, "data": data}
    message = _pending(tournament_id)
    if message is None:
        revision = _next_revision(tournament_id)
        if revision is not None:
            transaction.on_commit(Message(tournament_id, revision, [change]))
    elif change not in message.changes:
        message.changes.append(change)


def gather(tournament: Tournament) -> "Message":
    """The message of the present transaction, which holds the tournament's row locked and writes its raised revision
    if anything was published by its end."""
    message = Message(tournament.pk, tournament.revision + 1, [])
    transaction.on_commit(message)
    return message


@dataclass(frozen=True, slots=True)
class Message:
    """What a transaction has changed of a tournament; called, it is sent."""

    tournament_id: int
    revision: int
    changes: list[dict[str, Any]]

    def __call__(self) -> None:
        if self.changes:
            _publisher.send(self.tournament_id, {"revision": self.revision, "changes": self.changes})


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


def record(tournament_id: int, kind: str, text: str, *, agent: Agent | None = None, pod: Pod | None = None) -> Event:
    """Store an event and tell the viewers."""
    event = Event(tournament_id=tournament_id, kind=kind, text=text, agent=agent, pod=pod)
    rows.insert(event)
    publish(tournament_id, "event", event.pk)
    return event


def publish_deleted(tournament_id: int) -> None:
    """Tell the viewers that the tournament is gone."""
    message = {"revision": 0, "changes": [{"kind": DELETED, "key": None, "data": None}]}
    transaction.on_commit(lambda: _publisher.send(tournament_id, message))


class _Publisher:
    """Sends to the channel layer from one thread with an event loop of its own.

    A caller never waits for the broker, messages keep their order, and connections are reused, which
    `async_to_sync` in a worker's threads would not do. Those of one tournament that wait are sent together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: asyncio.Queue[tuple[int, dict[str, Any]]] | None = None

    def send(self, tournament_id: int, message: dict[str, Any]) -> None:
        with self._lock:
            if self._loop is None:
                self._start()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._enqueue, tournament_id, message)

    def _start(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._queue = asyncio.Queue(maxsize=BACKLOG)
        threading.Thread(target=self._run, name="publisher", daemon=True).start()

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._forward())

    def _enqueue(self, tournament_id: int, message: dict[str, Any]) -> None:
        assert self._queue is not None
        try:
            self._queue.put_nowait((tournament_id, message))
        except asyncio.QueueFull:
            logger.warning("the broker is away; a message for %s was dropped", group_name(tournament_id))

    async def _forward(self) -> None:
        assert self._queue is not None
        layer = get_channel_layer()
        while True:
            waiting: dict[int, list[dict[str, Any]]] = {}
            tournament_id, message = await self._queue.get()
            waiting[tournament_id] = [message]
            while not self._queue.empty():
                tournament_id, message = self._queue.get_nowait()
                waiting.setdefault(tournament_id, []).append(message)
            for tournament_id, messages in waiting.items():
                group = group_name(tournament_id)
                try:
                    await layer.group_send(group, {"type": MESSAGE_TYPE, "messages": messages})
                except Exception as error:  # whatever the broker's client raises, the next message is tried
                    logger.warning("could not publish to %s: %s", group, error)
                    await asyncio.sleep(0.2)


_publisher = _Publisher()
