"""What waits for one viewer: batches that are written once for all viewers, and how far behind one may fall."""

import asyncio
from dataclasses import dataclass
from typing import Self

from webapp.tournaments import strict_json
from webapp.tournaments.live.backlog import Changes, Message, merged

MAX_WAITING = 2000
"""Messages that wait for one viewer; beyond it a snapshot says it all in less."""


def message_text(revision: int, kind: str, data: str) -> str:
    """A message but for its `{"seq":n,`, the only part that differs from viewer to viewer. data: JSON"""
    return f'"revision":{revision},"type":"{kind}","data":{data}}}'


@dataclass(frozen=True, slots=True)
class Batch:
    """What a window has brought.

    revision: every message up to this one is in this batch or in one before it
    heard: what it is made of, in order; one of them may be ahead of `revision`
    read: kind and JSON of what was read because of them; newer than the points that are in `heard`
    texts: its messages, for whoever lacks them all
    """

    revision: int
    heard: list[Message]
    read: list[tuple[str, str]]
    texts: list[str]

    @classmethod
    def made(cls, revision: int, heard: list[Message], changes: Changes, read: list[tuple[str, str]]) -> Self:
        """changes: what `heard` comes to"""
        return cls(revision, heard, read, _written(revision, changes, read))

    def after(self, revision: int) -> list[str]:
        """The messages for one who knows all up to `revision`: none twice, and none that says an earlier one."""
        if revision <= self.revision and revision < self.heard[0]["revision"]:
            return self.texts
        newer = [message for message in self.heard if message["revision"] > revision]
        return _written(max(revision, self.revision), merged(newer), self.read) if newer else []


def _written(revision: int, changes: Changes, read: list[tuple[str, str]]) -> list[str]:
    curves = [("curve", strict_json.dumps(curve)) for curve in changes.curves]
    return [message_text(revision, kind, data) for kind, data in (*curves, *read)]


@dataclass(frozen=True, slots=True)
class Over:
    """Why nothing more comes. code: what closes the socket"""

    code: int
    deleted: bool = False


HEARTBEAT = "heartbeat", "{}"
"""Says only that the viewer is up to date."""


class Outbox:
    """Filled by the feed, which never waits, and emptied by the viewer's socket as fast as that takes it.

    revision: of the last message taken; the same again may not be taken
    behind: nothing is kept for it any more: a snapshot is needed
    """

    def __init__(self) -> None:
        self.revision = -1
        self.behind = True
        self.over: Over | None = None
        self._batches: list[Batch] = []
        self._messages = 0
        self._beat: tuple[str, str] | None = None
        self._wake = asyncio.Event()

    def offer(self, batch: Batch) -> None:
        if self.behind:
            return
        self._beat = None  # it may be older than what the batch says
        self._batches.append(batch)
        self._messages += len(batch.texts)
        if self._messages > MAX_WAITING:
            self.lose()
        self._wake.set()

    def beat(self, kind: str, data: str) -> None:
        """Say this, which needs no revision of its own, behind all that waits. data: JSON"""
        self._beat = kind, data
        self._wake.set()

    def lose(self) -> None:
        """Forget all, until a snapshot is asked for."""
        self.behind = True
        self._clear()
        self._wake.set()

    def close(self, over: Over) -> None:
        self.over = self.over or over
        self._wake.set()

    def collect(self) -> None:
        """A snapshot is about to be asked for: keep what comes from now on."""
        self.behind = False
        self._clear()

    def start(self, revision: int) -> None:
        """The snapshot is there, as of `revision`."""
        self.revision = max(self.revision, revision)

    async def wait(self) -> None:
        """Until there is something to take, or to know."""
        await self._wake.wait()
        self._wake.clear()

    def take(self) -> list[str]:
        """All that waits, in order."""
        taken: list[str] = []
        for batch in self._batches:
            taken += batch.after(self.revision)
            self.revision = max(self.revision, batch.revision)
        if self._beat and not self.behind:
            taken.append(message_text(self.revision, *self._beat))
        self._clear()
        return taken

    def _clear(self) -> None:
        self._batches.clear()
        self._messages = 0
        self._beat = None
