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
    """The thread starts with the first message."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: asyncio.Queue[tuple[Group, dict[str, Any]]] | None = None

    def send(self, group: str, handler: str, message: dict[str, Any] | None = None) -> None:
        """Have the handler of this type called in each consumer of the group, the message among its `messages`."""
        with self._lock:
            if self._loop is None:
                self._start()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._enqueue, (group, handler), message or {})

    def _start(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._queue = asyncio.Queue(maxsize=BACKLOG)
        threading.Thread(target=self._run, name="publisher", daemon=True).start()

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._forward())

    def _enqueue(self, group: Group, message: dict[str, Any]) -> None:
        assert self._queue is not None
        try:
            self._queue.put_nowait((group, message))
        except asyncio.QueueFull:
            logger.warning("the broker is away; a message for %s was dropped", group[0])

    async def _forward(self) -> None:
        assert self._queue is not None
        layer = get_channel_layer()
        while True:
            waiting: dict[Group, list[dict[str, Any]]] = {}
            group, message = await self._queue.get()
            waiting[group] = [message]
            while not self._queue.empty():
                group, message = self._queue.get_nowait()
                waiting.setdefault(group, []).append(message)
            for (name, handler), messages in waiting.items():
                try:
                    await layer.group_send(name, {"type": handler, "messages": messages})
                except Exception as error:  # whatever the broker's client raises, the next message is tried
                    logger.warning("could not publish to %s: %s", name, error)
                    await asyncio.sleep(0.2)
            await asyncio.sleep(ROUND)


publisher = Publisher()
