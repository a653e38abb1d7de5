"""Pods, the curves that they report and what they log."""

from django.db import models
from django.db.models import Q

from webapp.tournaments.models.agent import Agent
from webapp.tournaments.models.tournament import Tournament

# A foreign key to the tournament has no index of its own where one of the model's begins with it: pods write much.


class Pod(models.Model):
    """One agent being trained for one round. A retry is the same row with `attempt` + 1.

    Whoever holds (id, attempt) while it is RUNNING may write it; `lease_until` says for how long it is believed.
    state_file: the last saved state, from which the next attempt goes on.
    """

    class Status(models.TextChoices):
        QUEUED = "QUEUED", "Queued"
        RUNNING = "RUNNING", "Running"
        FINISHED = "FINISHED", "Finished"
        FAILED = "FAILED", "Failed"
        STOPPED = "STOPPED", "Stopped"

    class DeviceKind(models.TextChoices):
        CPU = "cpu", "CPU"
        CUDA = "cuda", "CUDA"

    ACTIVE = (Status.QUEUED, Status.RUNNING)

    agent = models.OneToOneField(Agent, models.CASCADE, related_name="pod")
    tournament = models.ForeignKey(Tournament, models.CASCADE, related_name="pods", db_index=False)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.QUEUED)
    device_kind = models.CharField(max_length=4, choices=DeviceKind.choices)
    attempt = models.PositiveIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0, help_text="attempts that ended without a result")
    end_requested = models.BooleanField(default=False, help_text="the pool shrank: end the round now")
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=200, blank=True)
    slot = models.PositiveSmallIntegerField(null=True)
    env_steps_budget = models.PositiveBigIntegerField(null=True, help_text="of its round; null = seconds alone end it")
    env_steps = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    env_steps_per_second = models.FloatField(default=0)
    episodic_return = models.FloatField(null=True)
    state_file = models.CharField(max_length=200, blank=True)
    state_size = models.PositiveBigIntegerField(default=0)
    state_env_steps = models.PositiveBigIntegerField(default=0)
    state_seconds = models.FloatField(default=0)
    reason = models.TextField(blank=True)
    queued_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, help_text="of the first attempt")
    claimed_at = models.DateTimeField(null=True, help_text="of the current attempt")
    stepping_since = models.DateTimeField(null=True, help_text="first env step of the current attempt")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(status="RUNNING", lease_until__isnull=False)
                | (~Q(status="RUNNING") & Q(lease_until__isnull=True)),
                name="pod_lease_while_running",
            ),
        )
        indexes = (
            models.Index(fields=["device_kind", "id"], condition=Q(status="QUEUED"), name="pod_queue"),
            # Not of the lease itself: a renewal, the commonest write of all, then touches no index.
            models.Index(fields=["id"], condition=Q(status="RUNNING"), name="pod_running"),
            models.Index(fields=["tournament", "status"], name="pod_tournament_status"),
            models.Index(
                fields=["tournament", "-finished_at", "-id"], condition=Q(status="FAILED"), name="pod_failures"
            ),
        )

    def __str__(self) -> str:
        return f"pod {self.pk}"


class CurvePoint(models.Model):
    """A point of an agent's learning curve, written by one attempt of its pod."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="curve_points", db_index=False)
    attempt = models.PositiveIntegerField()
    env_steps = models.PositiveBigIntegerField()
    seconds = models.FloatField()
    episodic_return = models.FloatField(null=True)
    losses = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["agent", "env_steps", "attempt"], name="curve_point_unique"),)

    def __str__(self) -> str:
        return f"{self.agent_id} @ {self.env_steps}"


class PodLogLine(models.Model):
    """A line for the person who reads a pod's log."""

    pod = models.ForeignKey(Pod, models.CASCADE, related_name="log_lines")
    at = models.DateTimeField(auto_now_add=True)
    level = models.CharField(max_length=8, default="info")
    text = models.TextField()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.text
