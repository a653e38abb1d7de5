"""What the viewers of a tournament in this process are told: heard, read and written once for all of them.

A feed listens on one channel. Every window it makes a batch of what has changed and puts it into each viewer's outbox,
and waits for no viewer: whoever takes too little gets a snapshot when they take again. It runs while anybody watches.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from webapp.accounts.notices import group_name as person_group
from webapp.tournaments import events, selectors, strict_json
from webapp.tournaments.live import access as socket_access
from webapp.tournaments.live.access import MISSING, TRY_AGAIN, Scope
from webapp.tournaments.live.backlog import Backlog, Changes, merged
from webapp.tournaments.live.broker import broker
from webapp.tournaments.live.outbox import HEARTBEAT, Batch, Outbox, Over
from webapp.tournaments.live.shared_reads import SharedReads
from webapp.tournaments.models import Pod, Tournament

logger = logging.getLogger(__name__)

WINDOW = 0.1
"""Seconds for which messages are collected before they go out together."""

FRAMES_PER_SECOND = 1000
"""That this process sends at most: many viewers make the window longer."""

JOINING = 16
"""Connections to the broker that viewers who come at once may use, each for a moment."""

CHECK_INTERVAL = 5.0
"""Seconds between two looks at what no message says: a lost group, a token that has expired, a missed revision."""

QUIET = 1.0
"""Seconds without a message after which a look that finds all well is told: who hears nothing has lost us."""

LOOKS = 8
"""Sockets whose access is looked at together, now and then."""

Answer = TypeVar("Answer")


async def read(function: Callable[..., Answer], *args: Any) -> Answer:
    """Read in a thread of its own: a long snapshot holds up nobody."""
    answer: Answer = await database_sync_to_async(function, thread_sensitive=False)(*args)
    return answer


@dataclass(eq=False, slots=True)
class Viewer:
    """One socket. person: whose it is, if anybody's; seen: whether it has shown anything"""

    scope: Scope
    person: int | None
    seen: bool = False
    outbox: Outbox = field(default_factory=Outbox)


class Feed:
    """Three tasks: one hears, one tells, one looks whether all is well. When one fails, the viewers come again."""

    def __init__(self, tournament_id: int) -> None:
        self.viewers: set[Viewer] = set()
        self._tournament_id = tournament_id
        self._layer = get_channel_layer()
        self._joined: set[str] = set()
        self._backlog = Backlog()
        self._joining = asyncio.Semaphore(JOINING)
        self._told_at = time.monotonic()
        self._heard, self._look, self._started = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def welcome(self, viewer: Viewer) -> None:
        """Wait until all that happens from now on is heard, also of the viewer's access."""
        await self._started.wait()
        if viewer.person is not None and viewer.outbox.over is None:
            self._joined.add(person_group(viewer.person))
            async with self._joining:
                await broker(self._layer.group_add(person_group(viewer.person), self._channel))

    async def snapshot(self) -> tuple[int, str]:
        """The revision, and JSON of all that the page shows. Raises Tournament.DoesNotExist."""
        return await _snapshots.get(self._tournament_id)

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        over = Over(TRY_AGAIN)
        try:
            await self._start()
            async with asyncio.TaskGroup() as tasks:
                for work in (self._listen, self._tell, self._look_around):
                    tasks.create_task(work())
        except* Tournament.DoesNotExist:
            over = Over(MISSING, deleted=True)
        except* Exception as group:  # database or broker: the pages connect again and see it all
            logger.warning("the viewers of tournament %s are let go: %s", self._tournament_id, group.exceptions[0])
        finally:
            _forget(self)
            for viewer in self.viewers:
                viewer.outbox.close(over)
            self._started.set()
            for name in self._joined:
                with contextlib.suppress(Exception):  # a broker that is gone has forgotten the group as well
                    await broker(self._layer.group_discard(name, self._channel))

    async def _start(self) -> None:
        self._channel = await self._layer.new_channel()
        await self._join()
        await self._begin()
        self._started.set()

    async def _join(self) -> None:
        """The tournament's group and those of everybody who watches; what those are told who have left is not heard."""
        wanted = {person_group(viewer.person) for viewer in self.viewers if viewer.person is not None}
        wanted.add(events.group_name(self._tournament_id))
        left, self._joined = self._joined - wanted, {*wanted}
        for name in wanted:
            await broker(self._layer.group_add(name, self._channel))
        for name in left:
            await broker(self._layer.group_discard(name, self._channel))

    async def _begin(self) -> None:
        """Count from here; whoever watches already is given a snapshot."""
        self._backlog.reading()
        self._backlog.restart(_existing(await read(selectors.revision_get, self._tournament_id)))
        for viewer in self.viewers:
            viewer.outbox.lose()

    async def _listen(self) -> None:
        while True:
            told = await broker(self._layer.receive(self._channel))
            if told["type"] != events.MESSAGE_TYPE:
                self._look.set()
                continue
            for message in told["messages"]:
                if message["changes"][0]["kind"] == events.DELETED:
                    raise Tournament.DoesNotExist
                self._backlog.add(message)
            self._heard.set()

    async def _tell(self) -> None:
        while True:
            await self._heard.wait()
            self._heard.clear()
            await asyncio.sleep(_window())
            if self._backlog.window_ends():
                await self._begin()
            else:
                await self._offer()
            if self._backlog.behind:
                self._heard.set()

    async def _offer(self) -> None:
        """What the window has brought."""
        revision, heard = self._backlog.revision, self._backlog.take()
        if not heard:
            return
        changes = merged(heard)
        found = await read(_changes_read, self._tournament_id, changes) if changes.to_read else []
        batch = Batch.made(revision, heard, changes, found)
        self._told_at = time.monotonic()
        for viewer in self.viewers:
            viewer.outbox.offer(batch)

    async def _look_around(self) -> None:
        """Join the groups again, which a restarted broker has forgotten, and look for what was missed meanwhile."""
        told = await self._told_to_look(CHECK_INTERVAL)
        while True:
            self._look.clear()
            await self._join()
            self._backlog.exists(_existing(await read(selectors.revision_get, self._tournament_id)))
            if self._backlog.behind:
                self._heard.set()
            else:
                await self._beat()
            told = await self._look_at([*self.viewers], at_once=told)

    async def _beat(self) -> None:
        """Tell that all is well: by its figures while it trains, which grow without a change of its status."""
        told_at = self._told_at
        status = await read(_training_read, self._tournament_id)
        quiet = time.monotonic() - told_at >= QUIET
        if told_at != self._told_at or not (status or quiet):
            return  # something newer was told meanwhile, or a moment ago
        for viewer in self.viewers:
            viewer.outbox.beat(*(("status", status) if status else HEARTBEAT))

    async def _look_at(self, viewers: list[Viewer], at_once: bool) -> bool:
        """Close those who may not look any more, and let CHECK_INTERVAL pass. True as soon as told to look again.

        at_once: else a few at a time all the while, so that many hold up nothing that is told meanwhile
        """
        groups = [viewers[first : first + LOOKS] for first in range(0, len(viewers), LOOKS)] or [[]]
        for some in groups:
            problems = await read(
                socket_access.problems, self._tournament_id, [(viewer.scope, viewer.seen) for viewer in some]
            )
            for viewer, code in zip(some, problems, strict=True):
                if code is not None:
                    viewer.outbox.close(Over(code))
            if not at_once and await self._told_to_look(CHECK_INTERVAL / len(groups)):
                return True
        return at_once and await self._told_to_look(CHECK_INTERVAL)

    async def _told_to_look(self, seconds: float) -> bool:
        """Whether anything says so within `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._look.wait()
        return self._look.is_set()


_feeds: dict[tuple[asyncio.AbstractEventLoop, int], Feed] = {}


@asynccontextmanager
async def watching(tournament_id: int, viewer: Viewer) -> AsyncIterator[Feed]:
    """The tournament's feed, which fills the viewer's outbox meanwhile."""
    place = (asyncio.get_running_loop(), tournament_id)
    if place not in _feeds:
        _feeds[place] = Feed(tournament_id)
    feed = _feeds[place]
    feed.viewers.add(viewer)
    try:
        await feed.welcome(viewer)
        yield feed
    finally:
        feed.viewers.discard(viewer)
        if not feed.viewers:
            _forget(feed)
            await feed.close()


def _forget(feed: Feed) -> None:
    for place in [place for place, other in _feeds.items() if other is feed]:
        del _feeds[place]


def _window() -> float:
    viewers = sum(len(feed.viewers) for feed in _feeds.values())
    return max(WINDOW, viewers / FRAMES_PER_SECOND)


def _existing(revision: int | None) -> int:
    if revision is None:
        raise Tournament.DoesNotExist
    return revision


def _training_read(tournament_id: int) -> str | None:
    """A tournament whose pods train, as JSON; None of any other."""
    if not Pod.objects.filter(tournament=tournament_id, status=Pod.Status.RUNNING).exists():
        return None
    return strict_json.dumps(selectors.tournament_get(tournament_id))


def _snapshot_read(tournament_id: int) -> tuple[int, str]:
    """The revision is read first, so that no message newer than it can be missing in the data, which is JSON."""
    revision = _existing(selectors.revision_get(tournament_id))
    return revision, strict_json.dumps(selectors.snapshot(tournament_id))


_snapshots = SharedReads(_snapshot_read)


def _changes_read(tournament_id: int, changes: Changes) -> list[tuple[str, str]]:
    """The newest state of what changed, as JSON. Raises Tournament.DoesNotExist."""
    said: list[tuple[str, Any]] = []
    if "status" in changes.kinds:
        said.append(("status", selectors.tournament_get(tournament_id)))
    said += [("pod", pod) for pod in selectors.pods_get(changes.pods)]
    if "leaderboard" in changes.kinds:
        said.append(("leaderboard", selectors.leaderboard_list(tournament_id)))
    said += [("event", event) for event in selectors.events_get(changes.events)]
    return [(kind, strict_json.dumps(data)) for kind, data in said]
