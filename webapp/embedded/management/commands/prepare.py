"""`manage.py prepare`: what `make run` does before it serves, for those who start the parts themselves."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from webapp.embedded import preparation


class Command(BaseCommand):
    """May run again at every start: it does only what is missing."""

    help = "Migrate the database, collect static files, create the owner; prints a one-time sign-in link."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--base-url", default="http://127.0.0.1:8000", help="the dashboard's address")

    def handle(self, *args: Any, **options: Any) -> None:
        preparation.database_prepare()
        preparation.static_prepare()
        self.stdout.write(preparation.owner_prepare(options["base_url"]))
