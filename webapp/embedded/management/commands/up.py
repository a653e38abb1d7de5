"""`manage.py up`: serve the dashboard with a worker and everything they need, until Ctrl-C."""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand

from webapp.environment import REPOSITORY


class Command(BaseCommand):
    """Hands over to the supervisor, which must decide the services' addresses before settings are read."""

    help = "Serve the dashboard with a worker, and PostgreSQL and Valkey where no URL is given, until Ctrl-C."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
        os.execv(sys.executable, [sys.executable, "-m", "webapp.embedded"])  # noqa: S606 - no shell
