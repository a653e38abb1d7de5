"""Reads that many share: few of them, and none that began before it was asked for."""

import asyncio
import threading

from webapp.tournaments.live.shared_reads import SharedReads


class Counter:
    """A read that takes as long as it is told to, and answers how many have begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.go_on = threading.Event()

    def read(self, key: int) -> int:
        self.begun += 1
        number = self.begun
        self.go_on.wait(10)
        if key < 0:
            raise LookupError(f"there is no {key}")
        return number


async def begun(counter: Counter, count: int) -> None:
    async with asyncio.timeout(10):
        while counter.begun < count:
            await asyncio.sleep(0.01)


async def test_all_who_come_while_one_is_read_share_the_next() -> None:
    counter = Counter()
    reads = SharedReads(counter.read)
    first = asyncio.create_task(reads.get(1))
    await begun(counter, 1)
    late = [asyncio.create_task(reads.get(1)) for _ in range(50)]
    await asyncio.sleep(0)
    assert counter.begun == 1
    counter.go_on.set()
    assert await first == 1
    assert set(await asyncio.gather(*late)) == {2}
    assert await reads.get(1) == 3


async def test_one_who_leaves_and_one_who_fails_leave_the_others_alone() -> None:
    counter = Counter()
    reads = SharedReads(counter.read)
    leaving, staying = (asyncio.create_task(reads.get(1)) for _ in range(2))
    await begun(counter, 1)
    leaving.cancel()
    failing = [asyncio.create_task(reads.get(-1)) for _ in range(2)]
    counter.go_on.set()
    assert await staying == 1
    for answer in await asyncio.gather(*failing, return_exceptions=True):
        assert isinstance(answer, LookupError)
    assert isinstance(await reads.get(2), int)
