"""Notices tournaments whose pods wait and nobody takes them, and a disk that is nearly full.

The scheduler looks every few seconds.
"""

from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Max
from django.db.models.functions import Now

from podracer_core.tournament import sentences
from webapp.tournaments import events, orchestrator
from webapp.tournaments.keeping import disk
from webapp.tournaments.models import Notice, Pod, Tournament, Worker
from webapp.tournaments.notices import notices

EVERY_SECONDS = 10.0

PATIENCE_SECONDS = 60.0
"""A worker that restarts is no trouble."""

DISK_AGAIN = timedelta(days=1)
"""A disk that stays nearly full is told of again after so long."""


@dataclass
class Watch:
    """What one scheduler has seen: since when (by its own clock) nobody takes the pods of a tournament.

    Another that takes over waits anew, and what was told stands in the database: nothing is told twice.
    """

    _next: float = 0.0
    _since: dict[int, float] = field(default_factory=dict)

    def sweep(self, now: float) -> None:
        if now < self._next:
            return
        self._next = now + EVERY_SECONDS
        starving = _starving()
        self._since = {pk: self._since.get(pk, now) for pk in starving}
        for pk, since in self._since.items():
            if now - since >= PATIENCE_SECONDS:
                _tell(pk, *starving[pk])
        disk_look()


def _starving() -> dict[int, tuple[str, int]]:
    """Running tournaments with queued pods and none that runs, of a kind that no slot takes: the kind, and how many."""
    online = Worker.objects.filter(drain=Worker.Drain.NO, seen_at__gt=Now() - 3 * orchestrator.LEASE)
    taken = set(online.values_list("device_kind", flat=True))
    missing = [kind for kind in Pod.DeviceKind.values if kind not in taken]
    if not missing:
        return {}
    running = Pod.objects.filter(status=Pod.Status.RUNNING).values("tournament")
    waiting = (
        Pod.objects.filter(
            status=Pod.Status.QUEUED, device_kind__in=missing, tournament__status=Tournament.Status.RUNNING
        )
        .exclude(tournament__in=running)
        .order_by()
        .values("tournament", "device_kind")
        .annotate(total=Count("pk"))
        .values_list("tournament", "device_kind", "total")
    )
    return {pk: (kind, total) for pk, kind, total in waiting}


def _tell(tournament_id: int, kind: str, waiting: int) -> None:
    with orchestrator.changing(tournament_id) as tournament:
        if tournament is None or tournament.status != Tournament.Status.RUNNING or _told(tournament):
            return
        pods = "1 pod waits" if waiting == 1 else f"{waiting:,} pods wait"
        label = Pod.DeviceKind(kind).label
        text = f"{pods}, and no worker that takes {label} pods is online. Start one, or resume a drained one."
        events.record(tournament.pk, "no_worker", text)
        notices.record_starvation(tournament, text)


def _told(tournament: Tournament) -> bool:
    """Whether this was said since anything of it ran."""
    told = Notice.objects.filter(tournament=tournament, cause=notices.WORKERS)
    last = tournament.pods.aggregate(last=Max("claimed_at"))["last"]
    return (told.filter(at__gt=last) if last else told).exists()


def disk_look() -> None:
    """Tell of a disk that is nearly full, by the measure of the pages that warn of it."""
    found = disk.disk_lately()
    if found is None or not found.low:
        return
    if Notice.objects.filter(cause=notices.DISK, at__gt=Now() - DISK_AGAIN).exists():
        return
    free, total = sentences.size(found.free), sentences.size(found.total)
    with transaction.atomic():
        notices.record_disk(
            f"The storage's disk is nearly full: {free} of {total} are free. Once it is full, pods fail. "
            "The page Storage shows what takes the space; free some."
        )
