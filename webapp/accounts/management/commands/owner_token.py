"""manage.py owner_token: where the owner's API token is; --rotate replaces it."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from webapp.accounts.services import owner_ensure, owner_token_rotate


class Command(BaseCommand):
    """Makes sure that the file holds a valid token and prints the file's path, never the token."""

    help = "Print the path of the owner's API token; --rotate replaces the token and revokes the old one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--rotate", action="store_true", help="replace the token; the old one stops working")

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.PODRACER_HOME / "owner-token"
        if options["rotate"]:
            owner_token_rotate(path)
        else:
            owner_ensure(path)
        self.stdout.write(str(path))
