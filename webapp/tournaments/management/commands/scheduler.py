"""`manage.py scheduler`: sweeps every second, as the only one of those that run, and brings notices to webhooks."""

import logging
import signal
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand
from django.db import InterfaceError, OperationalError, close_old_connections, connection

from webapp.stop_signals import on_signals
from webapp.tournaments import orchestrator
from webapp.tournaments.artefacts import artefacts, ensembles
from webapp.tournaments.notices import deliveries, troubles
from webapp.tournaments.notices.webhook_post import LONGEST_SECONDS

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
LOCK_KEY = 0x706F6472  # "podr"; any number that nobody else of this database locks


class Command(BaseCommand):
    help = "Retries lost pods, fills pools, ends what is due, gives up what is lost. Several may run; one acts."

    def handle(self, *args: Any, **options: Any) -> None:
        stopping = threading.Event()
        on_signals((signal.SIGINT, signal.SIGTERM), stopping.set)
        # Beside the sweeps, which no receiver of a webhook may hold up.
        courier = threading.Thread(target=deliveries.run, args=(stopping,), name="courier", daemon=True)
        courier.start()
        watch = troubles.Watch()
        while not stopping.is_set():
            try:
                if _leads():
                    orchestrator.sweep()
                    ensembles.sweep()
                    artefacts.sweep()
                    watch.sweep(time.monotonic())
            except (OperationalError, InterfaceError) as error:
                # The lock went with the connection: another scheduler may lead by now, so it is asked for again.
                logger.warning("the database is away, trying again: %s", str(error).strip())
                close_old_connections()
            stopping.wait(SWEEP_SECONDS)
        courier.join(LONGEST_SECONDS)


def _leads() -> bool:
    """Whether this connection holds the lock that one scheduler at a time can hold, taking it if it is free."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            " AND classid = 0 AND objid = %s AND granted)",
            [LOCK_KEY],
        )
        if cursor.fetchone()[0]:
            return True
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK_KEY])
        return bool(cursor.fetchone()[0])
