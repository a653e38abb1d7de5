"""manage.py owner_password: set the password that the owner signs in with."""

import getpass
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.accounts.services import AccountError, owner_password_set


class Command(BaseCommand):
    """Asks twice, or reads one line of standard input with --stdin."""

    help = "Set the owner's password (asked for twice, or one line of standard input with --stdin)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--stdin", action="store_true", help="read the password from standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        password = sys.stdin.readline().rstrip("\r\n") if options["stdin"] else _ask_twice()
        try:
            owner = owner_password_set(password)
        except AccountError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"The password of {owner.username} is set.")


def _ask_twice() -> str:
    password = getpass.getpass("New password of the owner: ")
    if getpass.getpass("The same again: ") != password:
        raise CommandError("The two passwords differ; nothing was changed.")
    return password
