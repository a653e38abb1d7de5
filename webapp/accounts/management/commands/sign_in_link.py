"""manage.py sign_in_link: print a fresh one-time sign-in link for the owner."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from webapp.accounts.services import owner_ensure, sign_in_link_create
from webapp.embedded import registry
from webapp.environment import ANY_ADDRESS


class Command(BaseCommand):
    """The link stands alone on its line, uncoloured, so that scripts can read it."""

    help = "Print a fresh one-time sign-in link for the owner."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--base-url", help="where the dashboard is reached (default: the running one, else HOST and PORT)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        owner = owner_ensure(settings.PODRACER_HOME / "owner-token")
        self.stdout.write(sign_in_link_create(owner, options["base_url"] or _base_url()))


def _base_url() -> str:
    """Where the running dashboard of this home says it is, else where HOST and PORT say it would be."""
    running = registry.base_url(settings.PODRACER_HOME)
    if running:
        return running
    host = "localhost" if settings.HOST in ANY_ADDRESS else settings.HOST
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"
