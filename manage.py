#!/usr/bin/env python3
"""Podracer's administrative commands; `manage.py help` lists them."""

import os
import sys

from podracer_core.errors import PodracerError


def main() -> int:
    """Run one command. What a user can put right is said in one sentence, without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except PodracerError as error:
        print(f"podracer: {error}", file=sys.stderr)
        return 1
    except OperationalError as error:
        reason = " ".join(str(error).split())
        print(
            f"podracer: the database does not answer ({reason}): start Podracer with `make run`, "
            "or set DATABASE_URL to a PostgreSQL that runs.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
