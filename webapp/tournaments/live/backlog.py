"""What viewers have not been told yet: messages numbered by revision, possibly late, twice or never."""

from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]

MAX_MESSAGES = 2000
"""Messages that wait for a window's end; beyond it a snapshot says it all in less."""

PATIENCE = 10
"""Windows that a missing message is waited for: workers send theirs in rounds of their own."""

CURVE_LABELS = frozenset({"agent", "pod", "attempt", "sent_at", "env_steps_per_second", "kept_env_steps"})
"""What of a curve message is no column."""


class Backlog:
    """Collects messages from one snapshot on, and notices when one is missing.

    revision: every message up to this one was taken, waits here, or is in the snapshot
    """

    def __init__(self, limit: int = MAX_MESSAGES) -> None:
        self.revision = -1
        self._limit = limit
        self._highest = -1
        self._ahead: set[int] = set()
        self._waiting: list[Message] = []
        self._overflown = False
        self._windows = 0
        self._missing = -1

    @property
    def behind(self) -> bool:
        """Whether something is known to be missing."""
        return self.revision < self._highest

    def add(self, message: Message) -> None:
        """A message has arrived. One that the snapshot has, or that came before, is dropped."""
        revision = message["revision"]
        if revision <= self.revision or revision in self._ahead:
            return
        if len(self._waiting) >= self._limit:
            self._overflown = True
            self._waiting.clear()
        self._waiting.append(message)
        self._highest = max(self._highest, revision)
        self._ahead.add(revision)
        self._advance()

    def exists(self, revision: int) -> None:
        """The database is at `revision`, whether its message arrives or not."""
        self._highest = max(self._highest, revision)

    def take(self) -> list[Message]:
        """All that waits, in the order of its revisions."""
        taken, self._waiting = self._waiting, []
        return sorted(taken, key=lambda message: message["revision"])

    def window_ends(self) -> bool:
        """Called once a window. True when a snapshot is needed: too much waits, or a message does not come."""
        if self._overflown:
            return True
        if not self.behind:
            self._windows = 0
            return False
        self._windows = self._windows + 1 if self._missing == self.revision + 1 else 1
        self._missing = self.revision + 1
        return self._windows > PATIENCE

    def reading(self) -> None:
        """A snapshot is about to be read: all that was heard so far is in it."""
        self._overflown = False
        self._waiting.clear()

    def restart(self, revision: int) -> None:
        """A snapshot at `revision` was read; what arrived meanwhile and is newer waits on."""
        self._waiting = [message for message in self._waiting if message["revision"] > revision]
        self._ahead = {message["revision"] for message in self._waiting}
        self.revision = revision
        self._highest = max(self._ahead, default=revision)
        self._windows = 0
        self._advance()

    def _advance(self) -> None:
        while self.revision >= 0 and self.revision + 1 in self._ahead:
            self.revision += 1
            self._ahead.remove(self.revision)


@dataclass(slots=True)
class Changes:
    """Messages made one of a kind: what to read anew, and the curve points that were sent."""

    kinds: set[str] = field(default_factory=set)
    pods: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)

    @property
    def to_read(self) -> bool:
        return bool(self.kinds or self.pods or self.events)


def merged(messages: list[Message]) -> Changes:
    """`messages`, in order, coalesced: a key is read once, and curve points of one attempt become one message."""
    changes = Changes()
    curves: dict[tuple[str, int], list[dict[str, Any]]] = {}
    keys: dict[str, dict[int, None]] = {"pod": {}, "event": {}}
    for change in (change for message in messages for change in message["changes"]):
        kind, key = change["kind"], change["key"]
        if kind == "curve":
            data = change["data"]
            curves.setdefault((data["agent"], data["attempt"]), []).append(data)
        elif kind in keys:
            keys[kind][key] = None
        else:
            changes.kinds.add(kind)
    changes.pods, changes.events = list(keys["pod"]), list(keys["event"])
    changes.curves = [curves_joined(parts) for parts in curves.values()]
    return changes


def curves_joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Curve messages of one attempt one behind the other; a column that a part lacks is null there."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part if name not in CURVE_LABELS))
    joined = {name: part[name] for part in parts for name in part if name in CURVE_LABELS}
    joined["sent_at"] = max(part["sent_at"] for part in parts)
    for name in names:
        joined[name] = [value for part in parts for value in part.get(name) or [None] * len(part["env_steps"])]
    return joined
