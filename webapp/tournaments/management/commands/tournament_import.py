"""`manage.py tournament_import DIR`: a tournament that ran without a server, into the dashboard."""

from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from podracer_core.errors import PodracerError
from webapp.accounts.services import OWNER_NAME
from webapp.tournaments.importing import tournament_import


class Command(BaseCommand):
    help = "Import the folder of `python -m podracer_core tournament ... --home DIR`."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder that was given as --home")
        parser.add_argument("--owner", default=OWNER_NAME, help=f"user name of who shall own it ({OWNER_NAME})")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = User.objects.filter(username=options["owner"]).first()
        if owner is None:
            raise CommandError(f"There is no user {options['owner']!r}; name one with --owner.")
        try:
            tournament = tournament_import(owner=owner, folder=options["folder"])
        except PodracerError as error:
            raise CommandError(str(error)) from None
        counts = f"{tournament.agents.count():,} agents and {tournament.leaderboard.count()} on the leaderboard"
        self.stdout.write(f"Imported {tournament.name!r} as tournament {tournament.pk} with {counts}.")
