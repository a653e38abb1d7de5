"""The WebSocket of a tournament's viewers: a snapshot, then what changed, about ten times a second.

It forwards and never decides. Whatever goes wrong closes the socket with a code, so that the page connects again.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from webapp.accounts.access import Actor
from webapp.accounts.notices import group_name as person_group
from webapp.accounts.sockets import actor_from_scope
from webapp.tournaments import access, events, selectors, sharing, strict_json
from webapp.tournaments.backlog import Backlog, Changes, merged
from webapp.tournaments.models import Tournament
from webapp.tournaments.shared_reads import SharedReads

logger = logging.getLogger(__name__)

WINDOW = 0.1
"""Seconds for which messages are collected before they go out together."""

CHECK_INTERVAL = 5.0
"""Seconds between two looks at what no message says: a lost group, a sign-out, a missed revision."""

SEND_TIMEOUT = 30.0
"""Seconds after which a viewer that takes nothing is let go."""

STRANGER, HIDDEN, MISSING, TRY_AGAIN = 4401, 4403, 4404, 1013

ID = re.compile(r"[0-9]{1,18}")


class TournamentConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One viewer. `_pump` alone sends; the handler of messages only fills the backlog."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        try:
            await super().__call__(scope, receive, send)
        except StopConsumer:
            raise
        except Exception as error:  # the channel layer raises whatever its client does
            logger.warning("a viewer's socket ends, its channel is lost: %s", error)
            await self._end(TRY_AGAIN)
        finally:
            await self._stop_pump()

    async def connect(self) -> None:
        """Refusals come after the handshake: a browser shows no close code before it."""
        await self.accept()
        actor = await _actor(self.scope)
        if actor is None:
            await self._end(_strangers_code(self.scope))
            return
        named = self.scope["url_route"]["kwargs"].get("tournament_id", "")
        if not ID.fullmatch(named):
            await self._end(MISSING)
            return
        self._tournament_id = int(named)
        self._groups = [events.group_name(self._tournament_id)]
        if actor.user is not None:
            self._groups.append(person_group(actor.user.pk))
        self._backlog = Backlog()
        self._seq = 0
        self._deleted = self._check_now = False
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._pump())

    async def disconnect(self, code: int) -> None:
        await self._stop_pump()
        for group in getattr(self, "_groups", ()):
            with contextlib.suppress(Exception):  # a broker that is gone has forgotten the group as well
                await self.channel_layer.group_discard(group, self.channel_name)

    async def tournament_message(self, told: dict[str, Any]) -> None:
        """Something changed; the pump is told."""
        for message in told["messages"]:
            if message["changes"][0]["kind"] == events.DELETED:
                self._deleted = True
            else:
                self._backlog.add(message)
        self._wake.set()

    async def access_changed(self, message: dict[str, Any]) -> None:
        """A role, a token, a link, a session or who sees the tournament is another now."""
        self._check_now = True
        self._wake.set()

    # The pump

    async def _pump(self) -> None:
        try:
            await self._send_until_over()
        except _OverError as over:
            await self._end(over.code)
        except Exception as error:  # database, broker or socket: the page connects again and sees it all
            logger.warning("a viewer's socket ends: %s", error)
            await self._end(TRY_AGAIN)

    async def _send_until_over(self) -> None:
        await self._join()
        await self._check_access()  # once in its groups: what happened before they were joined was not heard
        await self._send_snapshot()
        loop = asyncio.get_running_loop()
        check_at = loop.time() + CHECK_INTERVAL
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), max(0.0, check_at - loop.time()))
            self._wake.clear()
            await asyncio.sleep(WINDOW)
            if self._check_now:
                self._check_now = False
                await self._check_access()
            if loop.time() >= check_at:
                await self._check()
                check_at = loop.time() + CHECK_INTERVAL
            await self._flush()

    async def _check(self) -> None:
        """Join the group again, which a restarted broker has forgotten, and look for what was missed meanwhile."""
        await self._join()
        await self._check_access()
        revision = await _read(selectors.revision_get, self._tournament_id)
        if revision is None:
            await self._say_deleted()
        self._backlog.exists(revision)

    async def _join(self) -> None:
        for group in self._groups:
            await self.channel_layer.group_add(group, self.channel_name)

    async def _check_access(self) -> None:
        """Ends the socket of who may not look (any more); that a tournament was deleted is told otherwise."""
        actor = await _actor(self.scope)
        if actor is None:
            raise _OverError(_strangers_code(self.scope))
        if not await _read(access.sees, actor, self._tournament_id) and (
            await _read(selectors.revision_get, self._tournament_id) is not None
        ):
            raise _OverError(HIDDEN if self._seq else MISSING)

    async def _flush(self) -> None:
        """Send what the window has brought."""
        if self._deleted:
            await self._say_deleted()
        if self._backlog.window_ends():
            await self._send_snapshot()
            return
        changes = merged(self._backlog.take())
        if changes.to_read:
            for kind, data in await self._existing(_read(_changes_read, self._tournament_id, changes)):
                await self._say(kind, data)
        for curve in changes.curves:
            await self._say("curve", curve)
        if self._backlog.behind:
            self._wake.set()

    async def _send_snapshot(self) -> None:
        self._backlog.reading()
        revision, data = await self._existing(_snapshots.get(self._tournament_id))
        self._backlog.restart(revision)
        await self._say_json("snapshot", data)
        if self._backlog.behind:
            self._wake.set()

    async def _existing(self, reading: Awaitable[Any]) -> Any:
        """What is read of the tournament. Ends the socket where there is none."""
        try:
            return await reading
        except Tournament.DoesNotExist:
            if self._seq == 0:
                raise _OverError(MISSING) from None
            await self._say_deleted()

    async def _say(self, kind: str, data: Any) -> None:
        await self._say_json(kind, strict_json.dumps(data))

    async def _say_json(self, kind: str, data: str) -> None:
        message = f'{{"seq":{self._seq},"revision":{self._backlog.revision},"type":"{kind}","data":{data}}}'
        self._seq += 1
        async with asyncio.timeout(SEND_TIMEOUT):
            await self.send(text_data=message)

    async def _say_deleted(self) -> None:
        await self._say("status", {"id": str(self._tournament_id), "status": "DELETED"})
        raise _OverError(MISSING)

    # Ending

    async def _end(self, code: int) -> None:
        """Close once; a client that is gone already is fine."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(Exception):
                await self.close(code=code)

    async def _stop_pump(self) -> None:
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


class _OverError(Exception):
    """Nothing more is to be said; `code` closes the socket."""

    def __init__(self, code: int) -> None:
        self.code = code


async def _read(function: Callable[..., Any], *args: Any) -> Any:
    """Read in a thread of its own: a long snapshot holds up no other viewer."""
    return await database_sync_to_async(function, thread_sensitive=False)(*args)


def _snapshot_read(tournament_id: int) -> tuple[int, str]:
    """The revision is read first, so that no message newer than it can be missing in the data, which is JSON."""
    revision = selectors.revision_get(tournament_id)
    if revision is None:
        raise Tournament.DoesNotExist
    return revision, strict_json.dumps(selectors.snapshot(tournament_id))


_snapshots = SharedReads(_snapshot_read)


def _changes_read(tournament_id: int, changes: Changes) -> list[tuple[str, Any]]:
    """The newest state of what changed. Raises Tournament.DoesNotExist."""
    said: list[tuple[str, Any]] = []
    if "status" in changes.kinds:
        said.append(("status", selectors.tournament_get(tournament_id)))
    said += [("pod", selectors.pod_get(key)) for key in changes.pods]
    if "leaderboard" in changes.kinds:
        said.append(("leaderboard", selectors.leaderboard_list(tournament_id)))
    said += [("event", selectors.event_get(key)) for key in changes.events]
    return [(kind, data) for kind, data in said if data is not None]


async def _actor(scope: Any) -> Actor | None:
    """Who looks, as of now: by session, token or share link."""
    token = _link_token(scope)
    if token is None:
        return await actor_from_scope(scope)
    found: Actor | None = await _read(sharing.link_actor, token)
    return found


def _strangers_code(scope: Any) -> int:
    """A link that opens nothing is over; whoever is signed out can sign in again."""
    return STRANGER if _link_token(scope) is None else HIDDEN


def _link_token(scope: Any) -> str | None:
    token: str | None = scope["url_route"]["kwargs"].get("link_token")
    return token
