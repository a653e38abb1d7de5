"""What a tournament's viewers are told: group names, revisions and the publisher.

Every message raises the tournament's revision by one, so that a consumer can tell when it missed one.
"""

import asyncio
import logging
import threading
from typing import Any

from channels.layers import get_channel_layer
from django.db import connection, transaction

from webapp.tournaments.models import Agent, Event, Pod

logger = logging.getLogger(__name__)

MESSAGE_TYPE = "tournament.message"
"""The Channels handler name of every message."""

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
    revision = _next_revision(tournament_id)
    if revision is None:
        return
    message = {"type": MESSAGE_TYPE, "revision": revision, "kind": kind, "key": key, "data": data}
    transaction.on_commit(lambda: _publisher.send(group_name(tournament_id), message))


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
    transaction.on_commit(lambda: _publisher.send(group_name(tournament_id), message))


class _Publisher:
    """Sends to the channel layer from one thread with an event loop of its own.

    A caller never waits for the broker, messages keep their order, and connections are reused, which
    `async_to_sync` in a worker's threads would not do.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: asyncio.Queue[tuple[str, dict[str, Any]]] | None = None

    def send(self, group: str, message: dict[str, Any]) -> None:
        with self._lock:
            if self._loop is None:
                self._start()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._enqueue, group, message)

    def _start(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._queue = asyncio.Queue(maxsize=BACKLOG)
        threading.Thread(target=self._run, name="publisher", daemon=True).start()

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._forward())

    def _enqueue(self, group: str, message: dict[str, Any]) -> None:
        assert self._queue is not None
        try:
            self._queue.put_nowait((group, message))
        except asyncio.QueueFull:
            logger.warning("the broker is away; a %s message for %s was dropped", message["kind"], group)

    async def _forward(self) -> None:
        assert self._queue is not None
        layer = get_channel_layer()
        while True:
            group, message = await self._queue.get()
            try:
                await layer.group_send(group, message)
            except Exception as error:  # whatever the broker's client raises, the next message is tried
                logger.warning("could not publish to %s: %s", group, error)
                await asyncio.sleep(0.2)


_publisher = _Publisher()
