"""Notices: that a tournament has ended or is in trouble, written in the transaction in which it happens.

The row is all that happens there. Browsers ask for new ones, `deliveries` brings them to webhooks.
"""

from webapp.tournaments import clock, rows
from webapp.tournaments.models import Notice, Tournament

ORDER_KEY = 0x6E6F7469  # "noti"; any number that nobody else of this database locks

TROUBLE_FAILURES = 3
"""Pods that fail one after another before it is trouble."""

PODS, WORKERS, DISK = "pods", "workers", "disk"
"""Causes of trouble."""

_ENDINGS = {
    Tournament.Status.FINISHED: (Notice.Kind.ENDED, "has finished"),
    Tournament.Status.STOPPED: (Notice.Kind.ENDED, "was stopped"),
    Tournament.Status.FAILED: (Notice.Kind.FAILED, "has failed"),
}


def record_end(tournament: Tournament) -> None:
    """Of a locked tournament that has just ended."""
    kind, verb = _ENDINGS[Tournament.Status(tournament.status)]
    best = f" Best score {tournament.best_history[-1]:,.6g}." if tournament.best_history else ""
    _record(tournament, kind, f"{tournament.name} {verb}. {tournament.reason}{best}")


def record_failures(tournament: Tournament, reason: str) -> None:
    """Of a locked tournament whose pods fail one after another; once until a pod finishes."""
    running = tournament.status == Tournament.Status.RUNNING
    if running and tournament.failed_in_a_row == TROUBLE_FAILURES:
        text = f"{tournament.name} is in trouble. {TROUBLE_FAILURES} pods in a row failed, the last so: {reason}"
        _record(tournament, Notice.Kind.TROUBLE, text, PODS)


def record_starvation(tournament: Tournament, reason: str) -> None:
    """Of a locked tournament for whose pods there is no worker."""
    _record(tournament, Notice.Kind.TROUBLE, f"{tournament.name} is in trouble. {reason}", WORKERS)


def record_disk(text: str) -> None:
    """Of the disk that every tournament writes to."""
    _record(None, Notice.Kind.TROUBLE, text, DISK)


def _record(tournament: Tournament | None, kind: str, text: str, cause: str = "") -> None:
    # Held until the commit, so that nobody sees a later id before an earlier one.
    rows.execute("SELECT pg_advisory_xact_lock(%s)", [ORDER_KEY])
    rows.insert(Notice(tournament=tournament, kind=kind, text=clock.storable(text), cause=cause))
