"""Sends messages to channel groups from one thread with an event loop of its own.

A caller never waits for the broker, messages keep their order, and connections are reused, which `async_to_sync` in a
worker's threads would not do. The first goes at once, the next in rounds: those of one group and type together.
"""

import asyncio
import logging
import threading
from typing import Any

from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

BACKLOG = 1000
"""Messages that may wait for a broker that is away; later ones are dropped."""

ROUND = 0.05
"""Seconds between two rounds. Each costs a web process a few commands to the broker, however much it brings."""

Group = tuple[str, str]
"""A channel group, and the Channels handler name of what is sent to it."""


class Publisher:
    """The thread starts with the first message. It is woken when it rests, and not by every message of a round."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[tuple[Group, dict[str, Any]]] = []
        self._rests = True
        self._wake = asyncio.Event()

    def send(self, group: str, handler: str, message: dict[str, Any] | None = None) -> None:
        """Have the handler of this type called in each consumer of the group, the message among its `messages`."""
        with self._lock:
            if self._loop is None:
                self._start()
            if len(self._waiting) >= BACKLOG:
                logger.warning("the broker is away; a message for %s was dropped", group)
                return
            self._waiting.append(((group, handler), message or {}))
            wake, self._rests = self._rests, False
        assert self._loop is not None
        if wake:
            self._loop.call_soon_threadsafe(self._wake.set)

    def _start(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="publisher", daemon=True).start()

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._forward())

    def _take(self) -> dict[Group, list[dict[str, Any]]]:
        """What waits; nothing, and then the next message wakes the thread."""
        with self._lock:
            taken, self._waiting = self._waiting, []
            self._rests = not taken
        groups: dict[Group, list[dict[str, Any]]] = {}
        for group, message in taken:
            groups.setdefault(group, []).append(message)
        return groups

    async def _forward(self) -> None:
        layer = get_channel_layer()
        while True:
            groups = self._take()
            if not groups:
                await self._wake.wait()
                self._wake.clear()
                continue
            for (name, handler), messages in groups.items():
                try:
                    await layer.group_send(name, {"type": handler, "messages": messages})
                except Exception as error:  # whatever the broker's client raises, the next message is tried
                    logger.warning("could not publish to %s: %s", name, error)
                    await asyncio.sleep(0.2)
            await asyncio.sleep(ROUND)


publisher = Publisher()
