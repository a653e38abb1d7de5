"""Signals that ask this process to stop, answered by a thread.

A handler runs between any two instructions of the main thread, also of those for which threading.Event holds its lock:
an Event that the main thread waits for, or that an earlier signal is just about to set, must not be set in a handler.
Several signals come at once where a parent of many threads is killed: the kernel sends PR_SET_PDEATHSIG for each of
them.
"""

import queue
import signal
import threading
from collections.abc import Callable, Iterable
from types import FrameType


class Relay:
    """Has a thread of its own call `answer` once for every `ring`, which may interrupt anything, itself too."""

    def __init__(self, answer: Callable[[], None]) -> None:
        self._answer = answer
        self._rung: queue.SimpleQueue[None] = queue.SimpleQueue()  # the one queue whose put is reentrant
        threading.Thread(target=self._run, name="stop-signals", daemon=True).start()

    def ring(self) -> None:
        self._rung.put(None)

    def _run(self) -> None:
        while True:
            self._rung.get()
            self._answer()


def on_signals(numbers: Iterable[signal.Signals], answer: Callable[[], None]) -> None:
    """Has a thread call `answer` for each of these signals that comes."""
    relay = Relay(answer)

    def heard(number: int, frame: FrameType | None) -> None:
        relay.ring()

    for number in numbers:
        signal.signal(number, heard)
