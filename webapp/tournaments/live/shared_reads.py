"""Reads that are shared: many viewers who come at once, as after a restart, cost no more than one or two."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from channels.db import database_sync_to_async

Answer = TypeVar("Answer")


class SharedReads(Generic[Answer]):
    """`read(key)` in a thread, one at a time for each key.

    Everybody gets an answer that began to be read after they asked: who comes while one is being read shares the next.
    """

    def __init__(self, read: Callable[[int], Answer]) -> None:
        self._read = read
        self._waiting: dict[Hashable, asyncio.Task[Answer]] = {}
        self._reading: dict[Hashable, asyncio.Task[Answer]] = {}

    async def get(self, key: int) -> Answer:
        """Raises what the read raises. A caller that goes away takes nothing from the others."""
        place = (asyncio.get_running_loop(), key)
        if place not in self._waiting:
            self._waiting[place] = asyncio.create_task(self._next(place, key))
        return await asyncio.shield(self._waiting[place])

    async def _next(self, place: Hashable, key: int) -> Answer:
        while reading := self._reading.get(place):
            await asyncio.wait([reading])
        self._reading[place] = self._waiting.pop(place)
        try:
            answer: Answer = await database_sync_to_async(self._read, thread_sensitive=False)(key)
            return answer
        finally:
            del self._reading[place]
