"""What workers make of checkpoints."""

from django.db import models
from django.db.models import Q

from webapp.tournaments.models.agent import Agent


class Artefact(models.Model):
    """What a worker makes of checkpoints when somebody asks: an export, the video of an episode, or an ensemble, whose
    file becomes its own checkpoint.

    Whoever holds (id, attempt) while it is RUNNING may write it; `lease_until` says for how long it is believed.
    name: of the export's format or of the episode; details: what its maker says of it, see workers/artefact_process.py
    """

    class Kind(models.TextChoices):
        EXPORT = "export", "Export"
        REPLAY = "replay", "Replay"
        ENSEMBLE = "ensemble", "Ensemble"

    class Status(models.TextChoices):
        QUEUED = "QUEUED", "Queued"
        RUNNING = "RUNNING", "Running"
        FINISHED = "FINISHED", "Finished"
        FAILED = "FAILED", "Failed"

    NAMES = {  # noqa: RUF012 - never changed
        Kind.EXPORT: {"torchscript": "TorchScript", "onnx": "ONNX"},
        Kind.REPLAY: {"best": "Best", "median": "Median", "worst": "Worst"},
    }

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="artefacts")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=20)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(null=True)
    progress = models.FloatField(default=0, help_text="share done, 0 to 1")
    reason = models.TextField(blank=True)
    file = models.CharField(max_length=200, blank=True)
    poster_file = models.CharField(max_length=200, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    details = models.JSONField(default=dict)
    requested_at = models.DateTimeField(help_text="for the last time")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["agent", "kind", "name"], name="artefact_unique"),
            models.CheckConstraint(
                condition=Q(status="RUNNING", lease_until__isnull=False)
                | (~Q(status="RUNNING") & Q(lease_until__isnull=True)),
                name="artefact_lease_while_running",
            ),
        )
        indexes = (
            models.Index(fields=["requested_at"], condition=Q(status__in=["QUEUED", "RUNNING"]), name="artefact_open"),
        )

    def __str__(self) -> str:
        return f"{self.name} of {self.agent_id}"
