"""Calls to the broker that end when they are cancelled.

Its client may forget a cancellation: asyncio.wait_for of Python 3.11, in which redis-py sends, drops one that comes as
a command has gone out, and channels_redis goes on to wait for a message that may never come.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")

AGAIN_SECONDS = 0.05
"""After which a call that goes on is cancelled once more."""


async def broker(call: Coroutine[Any, Any, Answer]) -> Answer:
    """What `call` answers. Cancelled, it is cancelled until it has ended."""
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=AGAIN_SECONDS)
        if not task.cancelled():
            task.exception()  # looked at: nobody waits for it any more
        raise
