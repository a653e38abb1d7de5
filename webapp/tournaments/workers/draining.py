"""Which workers are given work: a condition that the claims share."""

from django.db.models import Exists

from webapp.tournaments.models import Worker


def drained(worker: str) -> Exists:
    """Whether the worker of that name was told to take nothing more."""
    return Exists(Worker.objects.filter(name=worker).exclude(drain=Worker.Drain.NO))
