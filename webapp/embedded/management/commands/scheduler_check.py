"""`manage.py scheduler_check`: for health checks of a scheduler that runs in a container of its own."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from webapp.tournaments.management.commands.scheduler import LOCK_KEY


class Command(BaseCommand):
    """Of several schedulers one acts, so it is asked whether any does."""

    help = "Succeeds while a scheduler holds the lock under which it works."

    def handle(self, *args: Any, **options: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = %s "
                "AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
                [LOCK_KEY],
            )
            if cursor.fetchone()[0] == 0:
                raise CommandError("No scheduler is at work on this database.")
