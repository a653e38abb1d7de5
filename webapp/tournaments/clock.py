"""The database's clock, which all hosts share, and numbers and texts as the database and JSON can hold them."""

import math
from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The time now by the database's clock, also inside a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def finite(value: float | None) -> float | None:
    """`value`, or None where it is NaN or infinite."""
    return value if value is not None and math.isfinite(value) else None


def storable(text: str) -> str:
    """`text` without NUL, which PostgreSQL refuses: what an environment says when it crashes may have any sign."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def iso(moment: datetime | None) -> str | None:
    """A time as JSON has it."""
    return moment.isoformat() if moment else None
