"""Celery's handlers of signals to stop, each entered by one signal at a time."""

import signal
from types import FrameType
from typing import Any

from celery import bootsteps


class OneSignalAtATime(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """A signal that comes while another is handled is not: the other stops this worker anyhow.

    As of Celery 5.7 the handler takes a lock (in celery.utils.dispatch) that a second one would wait for, within it,
    for ever. They come at once where the process that started this worker is killed (see webapp.stop_signals).
    """

    def start(self, parent: Any) -> None:
        handling = False

        def guarded(handle: Any) -> Any:
            def handle_alone(number: int, frame: FrameType | None) -> None:
                nonlocal handling
                if handling:
                    return
                handling = True
                try:
                    handle(number, frame)
                finally:
                    handling = False

            return handle_alone

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, guarded(signal.getsignal(number)))
