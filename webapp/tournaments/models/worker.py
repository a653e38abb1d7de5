"""Who trains."""

from django.db import models

from webapp.tournaments.models.pod import Pod


class Worker(models.Model):
    """A Celery process with slots, as it last said of itself.

    drain: what people want of it, which it reads with each sign of life. A drained one is given nothing more.
    facts: of its host and devices; usage: of these over the last minutes; see workers/host.py
    """

    class Drain(models.TextChoices):
        NO = "", "No"
        AFTER = "after", "After what it runs"
        NOW = "now", "Now"

    name = models.CharField(max_length=200, unique=True)
    device_kind = models.CharField(max_length=4, choices=Pod.DeviceKind.choices)
    slots = models.PositiveSmallIntegerField()
    seen_at = models.DateTimeField()
    drain = models.CharField(max_length=5, choices=Drain.choices, default=Drain.NO, blank=True)
    facts = models.JSONField(default=dict)
    usage = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name
