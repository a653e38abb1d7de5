"""Writes that outlast a database that is away for a moment."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.5

Answer = TypeVar("Answer")


def persistently(call: Callable[[], Answer]) -> Answer:
    """`call()`, again while the database cannot be reached, for PATIENCE_SECONDS. The call is fenced or idempotent.

    Raises OperationalError or InterfaceError when the database stays away.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return call()
        except (OperationalError, InterfaceError) as error:
            close_old_connections()
            if time.monotonic() > deadline:
                raise
            left = max(0.0, deadline - time.monotonic())
            logger.warning("the database did not take a write, tried again for %.0f s: %s", left, str(error).strip())
            time.sleep(PAUSE_SECONDS)
