"""Writes that outlast a database that is away."""

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0

AWAY = (OperationalError, InterfaceError)
"""What Django raises then."""

Answer = TypeVar("Answer")


def persistently(call: Callable[[], Answer]) -> Answer:
    """`call()`, again while the database cannot be reached, for PATIENCE_SECONDS. The call is fenced or idempotent.

    Raises OperationalError or InterfaceError when the database stays away.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return call()
        except AWAY as error:
            close_old_connections()
            left = deadline - time.monotonic()
            if left < 0:
                raise
            logger.warning("the database did not take a write, tried again for %.0f s: %s", left, str(error).strip())
            time.sleep(PAUSE_SECONDS)


def while_wanted(call: Callable[[], Answer], stopping: threading.Event) -> Answer | None:
    """`call()`, again for as long as the database cannot be reached and nobody wants this worker to stop; None then.

    For what means nothing to a worker that stops, and what one that goes on cannot do without.
    """
    pause = PAUSE_SECONDS
    while not stopping.is_set():
        try:
            return call()
        except AWAY as error:
            close_old_connections()
            logger.warning("the database is away, tried again in %.1f s: %s", pause, str(error).strip())
            stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    return None
