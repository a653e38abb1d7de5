"""A call to the broker ends when it is cancelled, however often its client forgets that."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from webapp.tournaments.live.broker import broker

LIMIT = 5.0


def forgetful(times: int, ended: list[int]) -> Callable[[], Coroutine[Any, Any, None]]:
    """A call that waits for ever, and goes on after so many cancellations."""

    async def call() -> None:
        forgotten = 0
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                forgotten += 1
                if forgotten > times:
                    ended.append(forgotten)
                    raise

    return call


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_a_call_that_forgets_a_cancellation_ends_and_is_over_before_its_caller_is(times: int) -> None:
    ended: list[int] = []
    caller = asyncio.create_task(broker(forgetful(times, ended)()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    done, _ = await asyncio.wait([caller], timeout=LIMIT)
    assert done
    assert caller.cancelled()
    assert ended == [times + 1]


async def test_one_of_a_group_that_fails_ends_the_others_calls() -> None:
    """As the tasks of a feed: when one fails, the viewers come again."""

    async def failing() -> None:
        await asyncio.sleep(0)
        raise OSError("the database is gone")

    async def all_of_it() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(broker(forgetful(1, [])()))
            tasks.create_task(failing())

    with pytest.raises(ExceptionGroup) as failed:
        await asyncio.wait_for(all_of_it(), LIMIT)
    assert failed.group_contains(OSError, match="the database is gone")


async def test_answers_and_errors_come_through() -> None:
    async def answering() -> int:
        return 7

    async def failing() -> None:
        raise ConnectionError("refused")

    assert await broker(answering()) == 7
    with pytest.raises(ConnectionError, match="refused"):
        await broker(failing())
