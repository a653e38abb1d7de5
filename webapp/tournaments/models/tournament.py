"""What a tournament is, and what is counted of it."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property

from podracer_core.spec import TournamentSpec
from podracer_core.tournament.leaderboard import Entry
from webapp.accounts.models import Project


@lru_cache(maxsize=1024)
def _parsed(spec: str) -> TournamentSpec:
    """Validated once in each process: every pod asks for it."""
    return TournamentSpec.model_validate(json.loads(spec))


class Tournament(models.Model):
    """One experiment. `revision` counts its changes, so that a viewer knows when it has missed one.

    What the stop rules look at is counted here as pods end, so that a decision costs the same however many there were.
    now: the database's time when the row was locked, see `orchestrator.changing`; entries: its leaderboard, where that
    was read with the row, see board.py
    """

    class Status(models.TextChoices):
        DRAFT = "DRAFT", "Draft"
        RUNNING = "RUNNING", "Running"
        PAUSED = "PAUSED", "Paused"
        FINISHED = "FINISHED", "Finished"
        STOPPED = "STOPPED", "Stopped"
        FAILED = "FAILED", "Failed"

    ENDED = (Status.FINISHED, Status.STOPPED, Status.FAILED)

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="tournaments")
    project = models.ForeignKey(Project, models.SET_NULL, null=True, related_name="tournaments")
    shared = models.BooleanField(default=False, help_text="everybody who is signed in may look")
    archived = models.BooleanField(default=False, help_text="the list leaves it out unless asked for these")
    name = models.CharField(max_length=120)
    env_id = models.CharField(max_length=200)
    spec = models.JSONField()
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.DRAFT)
    reason = models.TextField(blank=True)
    pool_size = models.PositiveIntegerField()
    priority = models.SmallIntegerField(default=0)
    revision = models.PositiveBigIntegerField(default=0)
    agents_created = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    running_since = models.DateTimeField(null=True, help_text="null while it does not run")
    seconds_before = models.FloatField(default=0, help_text="time running before `running_since`")
    finished_at = models.DateTimeField(null=True)
    best_history = models.JSONField(default=list, help_text="new best scores in order: the first and the latest")
    reevaluations = models.PositiveIntegerField(default=0, help_text="newcomers evaluated again before they ranked")
    reevaluations_changed = models.PositiveIntegerField(default=0, help_text="of these, other ranks than at first")
    pods_finished = models.PositiveIntegerField(default=0)
    env_steps_spent = models.PositiveBigIntegerField(default=0, help_text="of the pods that have ended")
    since_best = models.PositiveIntegerField(default=0, help_text="pods finished since the best score was set")
    confirmed_score = models.FloatField(null=True, help_text="the best that further episodes confirmed")
    failed_in_a_row = models.PositiveIntegerField(default=0, help_text="pods failed since the last one finished")
    pods_failed = models.PositiveIntegerField(default=0)
    pods_stopped = models.PositiveIntegerField(default=0)
    pods_retried = models.PositiveIntegerField(default=0, help_text="pods of which an attempt was lost")
    events_recorded = models.PositiveIntegerField(default=0)

    LIVE = (
        "revision",
        "archived",
        "name",
        "status",
        "reason",
        "pool_size",
        "priority",
        "agents_created",
        "started_at",
        "running_since",
        "seconds_before",
        "finished_at",
        "best_history",
        "reevaluations",
        "reevaluations_changed",
        "pods_finished",
        "env_steps_spent",
        "since_best",
        "confirmed_score",
        "failed_in_a_row",
        "pods_failed",
        "pods_stopped",
        "pods_retried",
        "events_recorded",
    )
    """What changes while its row is locked."""

    now: datetime
    entries: Sequence[Entry]
    reserved: "dict[type[models.Model], int] | None" = None
    """Keys for the next rows of these kinds, where they were read with it."""

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(pool_size__gte=1), name="tournament_pool_size_positive"),
            models.CheckConstraint(
                condition=Q(status="RUNNING", running_since__isnull=False)
                | (~Q(status="RUNNING") & Q(running_since__isnull=True)),
                name="tournament_running_since_while_running",
            ),
        )
        indexes = (
            models.Index(fields=["-created_at"], name="tournament_newest"),
            models.Index(fields=["status"], name="tournament_status"),
        )

    def __str__(self) -> str:
        return self.name

    def key_for(self, model: type[models.Model]) -> int | None:
        """The reserved one, once."""
        return self.reserved.pop(model, None) if self.reserved else None

    @cached_property
    def parsed_spec(self) -> TournamentSpec:
        """The specification as it was accepted, with its defaults. It never changes."""
        return _parsed(json.dumps(self.spec))
