"""The WebSocket of a tournament's viewer: a snapshot, then what changed, several times a second.

It forwards what the tournament's feed puts into its outbox and never decides. Whatever goes wrong closes the socket
with a code, so that the page connects again.
"""

import asyncio
import contextlib
import logging
import re
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from webapp.tournaments import strict_json
from webapp.tournaments.live import access as socket_access
from webapp.tournaments.live.access import MISSING, TRY_AGAIN
from webapp.tournaments.live.feed import Feed, Viewer, read, watching
from webapp.tournaments.live.outbox import Over, message_text
from webapp.tournaments.models import Tournament

logger = logging.getLogger(__name__)

TOGETHER = "podracer.together"
"""The WebSocket subprotocol in which a frame is an array of messages; without it each message is a frame."""

SEND_TIMEOUT = 30.0
"""Seconds after which a viewer that takes nothing is let go."""

ID = re.compile(r"[0-9]{1,18}")


class TournamentConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One viewer. `_pump` alone sends."""

    channel_layer_alias = "none"
    """The feed listens for all."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._stop_pump()

    async def connect(self) -> None:
        """Refusals come after the handshake: a browser shows no close code before it."""
        self._together = TOGETHER in self.scope.get("subprotocols", ())
        await self.accept(subprotocol=TOGETHER if self._together else None)
        actor = await read(socket_access.actor_of, self.scope)
        if actor is None:
            await self._end(socket_access.strangers_code(self.scope))
            return
        named = self.scope["url_route"]["kwargs"].get("tournament_id", "")
        if not ID.fullmatch(named):
            await self._end(MISSING)
            return
        self._tournament_id = int(named)
        self._viewer = Viewer(self.scope, actor.user.pk if actor.user else None)
        self._seq = 0
        self._task = asyncio.create_task(self._pump())

    async def disconnect(self, code: int) -> None:
        await self._stop_pump()

    # The pump

    async def _pump(self) -> None:
        try:
            async with watching(self._tournament_id, self._viewer) as feed:
                over = await self._send_until_over(feed)
            await self._end(over.code)
        except Exception as error:  # database, broker or socket: the page connects again and sees it all
            logger.warning("a viewer's socket ends: %s", error)
            await self._end(TRY_AGAIN)

    async def _send_until_over(self, feed: Feed) -> Over:
        outbox = self._viewer.outbox
        # Once their changes are heard: what happened before was not.
        code = await read(socket_access.problem, self.scope, self._tournament_id)
        if code is not None:
            return Over(code)
        while outbox.over is None:
            if outbox.behind:
                await self._send_snapshot(feed)
            await outbox.wait()
            await self._send(outbox.take())
        if outbox.over.deleted and self._viewer.seen:
            await self._say("status", strict_json.dumps({"id": str(self._tournament_id), "status": "DELETED"}))
        return outbox.over

    async def _send_snapshot(self, feed: Feed) -> None:
        outbox = self._viewer.outbox
        outbox.collect()
        try:
            revision, data = await feed.snapshot()
        except Tournament.DoesNotExist:
            outbox.close(Over(MISSING, deleted=True))
            return
        outbox.start(revision)
        await self._say("snapshot", data)
        self._viewer.seen = True

    async def _say(self, kind: str, data: str) -> None:
        await self._send([message_text(self._viewer.outbox.revision, kind, data)])

    async def _send(self, texts: list[str]) -> None:
        messages = [f'{{"seq":{seq},{text}' for seq, text in enumerate(texts, self._seq)]
        self._seq += len(texts)
        for frame in [f"[{','.join(messages)}]"] if self._together and messages else messages:
            async with asyncio.timeout(SEND_TIMEOUT):
                await self.send(text_data=frame)

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
