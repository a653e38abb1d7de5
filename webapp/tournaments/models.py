"""What a tournament is in the database. PostgreSQL is the truth: messages, caches and processes may all be lost."""

import json
import uuid
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.functional import cached_property

from podracer_core.spec import TournamentSpec
from webapp.accounts.models import Project

# A foreign key to the tournament has no index of its own where one of the model's begins with it: pods write much.


@lru_cache(maxsize=1024)
def _parsed(spec: str) -> TournamentSpec:
    """Validated once in each process: every pod asks for it."""
    return TournamentSpec.model_validate(json.loads(spec))


class Tournament(models.Model):
    """One experiment. `revision` counts its changes, so that a viewer knows when it has missed one.

    What the stop rules look at is counted here as pods end, so that a decision costs the same however many there were.
    now: the database's time when the row was locked, see `orchestrator.changing`
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

    @cached_property
    def parsed_spec(self) -> TournamentSpec:
        """The specification as it was accepted, with its defaults. It never changes."""
        return _parsed(json.dumps(self.spec))


class AgentManager(models.Manager["Agent"]):
    """Agents that a pod trained. Ensembles stand beside them: whoever means them too, says so with `Agent.every`."""

    def get_queryset(self) -> models.QuerySet["Agent"]:
        return super().get_queryset().filter(kind=Agent.Kind.AGENT)


class Agent(models.Model):
    """A policy with its algorithm, hyperparameters, parents, checkpoint and score.

    An ensemble is one too: of its members, which are its parents, with neither pod nor place on the leaderboard.

    index: its number in the tournament among those of its kind, in the order of creation; founder_index: that of the
    fresh agent it descends from, of an ensemble its best member's. env_steps: its own; base_env_steps: those of the
    line that it inherits.
    inherits_from: whose weights it continues, of averaged parents the first; null for one that started from scratch.
    stage, team: its generation or rung, and which agents are fused, see tournament.modes. schedule: of a rerun.
    screening: the first evaluation of a newcomer that was evaluated again.
    promotable: of successive halving, scored below the top rung and not gone on from.
    color: which chip colour it wears, given when it first enters the leaderboard.
    """

    class Kind(models.TextChoices):
        AGENT = "agent", "Agent"
        ENSEMBLE = "ensemble", "Ensemble"

    tournament = models.ForeignKey(Tournament, models.CASCADE, related_name="agents", db_index=False)
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.AGENT)
    index = models.PositiveIntegerField()
    name = models.CharField(max_length=8)
    algorithm = models.CharField(max_length=20)
    hyperparameters = models.JSONField()
    seed = models.BigIntegerField()
    strategy = models.CharField(max_length=20)
    parents = models.ManyToManyField("self", symmetrical=False, related_name="children")
    inherits_from = models.ForeignKey("self", models.CASCADE, null=True, related_name="heirs")
    num_envs = models.PositiveIntegerField(null=True, help_text="null: what the specification says")
    stage = models.PositiveIntegerField(default=0)
    team = models.PositiveIntegerField(default=0)
    promotable = models.BooleanField(default=False)
    origin = models.TextField(blank=True, help_text="why these parents")
    schedule = models.JSONField(default=list)
    founder_index = models.PositiveIntegerField()
    depth = models.PositiveIntegerField(default=0)
    changes = models.JSONField(default=dict)
    base_env_steps = models.PositiveBigIntegerField(default=0)
    env_steps = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    score = models.FloatField(null=True)
    score_low = models.FloatField(null=True)
    score_high = models.FloatField(null=True)
    mean = models.FloatField(null=True)
    iqm = models.FloatField(null=True)
    returns = models.JSONField(default=list)
    confirmation = models.JSONField(null=True)
    screening = models.JSONField(null=True)
    scored_at = models.DateTimeField(null=True)
    color = models.PositiveSmallIntegerField(null=True)
    checkpoint_file = models.CharField(max_length=200, blank=True)
    checkpoint_sha256 = models.CharField(max_length=64, blank=True)
    checkpoint_size = models.PositiveBigIntegerField(default=0)
    state_file = models.CharField(max_length=200, blank=True)
    state_size = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AgentManager()
    every = models.Manager["Agent"]()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tournament", "kind", "index"], name="agent_index_unique"),
            models.UniqueConstraint(fields=["tournament", "name"], name="agent_name_unique"),
            models.CheckConstraint(
                condition=Q(checkpoint_file="") | ~Q(checkpoint_sha256=""), name="agent_checkpoint_has_hash"
            ),
        )
        indexes = (
            models.Index(F("tournament"), F("score").desc(nulls_last=True), name="agent_best"),
            models.Index(F("tournament"), F("stage"), F("score") * -1, F("index"), name="agent_best_of_stage"),
            models.Index(
                F("tournament"),
                F("stage"),
                F("score") * -1,
                F("index"),
                condition=~Q(state_file="") & Q(promotable=True),
                name="agent_promotable",
            ),
            # Few: what is of no use is released, see retention.py; whoever may be promoted has an index of its own.
            models.Index(fields=["tournament"], condition=~Q(state_file="") & Q(promotable=False), name="agent_state"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def envs(self) -> int:
        """Environments that its pod steps at once; those of before they could be searched have the pool's."""
        return self.num_envs or int(self.tournament.parsed_spec.num_envs_space(self.algorithm).values[0])


class LeaderboardEntry(models.Model):
    """An agent's place among the best."""

    tournament = models.ForeignKey(Tournament, models.CASCADE, related_name="leaderboard", db_index=False)
    agent = models.OneToOneField(Agent, models.CASCADE, related_name="entry")
    rank = models.PositiveIntegerField()
    rank_change = models.IntegerField(null=True, help_text="places gained at the last change; null = new")
    beats_next = models.FloatField(null=True, help_text="probability that it is better than the next")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["tournament", "rank"], name="entry_rank_unique", deferrable=models.Deferrable.DEFERRED
            ),
            models.CheckConstraint(condition=Q(rank__gte=1), name="entry_rank_from_one"),
        )
        ordering = ("rank",)

    def __str__(self) -> str:
        return f"{self.rank}. {self.agent_id}"


class Rung(models.Model):
    """A rung of successive halving below the top one, as far as a promotion asks.

    scored: its agents with a valid score; cut_score, cut_index: of the last among its best 1 / reduction_factor
    """

    tournament = models.ForeignKey(Tournament, models.CASCADE, related_name="rungs", db_index=False)
    level = models.PositiveSmallIntegerField()
    scored = models.PositiveIntegerField(default=0)
    cut_score = models.FloatField(null=True, help_text="null: there are too few yet")
    cut_index = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tournament", "level"], name="rung_unique"),)

    def __str__(self) -> str:
        return f"rung {self.level}"


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


class Event(models.Model):
    """Something that happened, in a sentence with names, numbers and reasons. data: the same for programs"""

    tournament = models.ForeignKey(Tournament, models.CASCADE, related_name="events", db_index=False)
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=30)
    text = models.TextField()
    data = models.JSONField(default=dict)
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="+")
    pod = models.ForeignKey(Pod, models.SET_NULL, null=True, related_name="+")

    class Meta:
        indexes = (models.Index(fields=["tournament", "-id"], name="event_newest"),)

    def __str__(self) -> str:
        return self.text


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


class ShareLink(models.Model):
    """An address at which whoever holds it may look at one tournament, until it is revoked or expires."""

    tournament = models.ForeignKey(Tournament, models.CASCADE, related_name="share_links")
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, help_text="null = never")
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.name


class Notice(models.Model):
    """That a tournament has ended or is in trouble, for everybody who may see it. Of no tournament it is of what all
    depend on, and for admins.

    Ids follow the order of the commits, see notices.py: whoever asks for those after the last it knows misses none.
    cause: of trouble; told: whether its deliveries to webhooks were made
    """

    class Kind(models.TextChoices):
        ENDED = "ended", "It ended"
        FAILED = "failed", "It failed"
        TROUBLE = "trouble", "It is in trouble"

    tournament = models.ForeignKey(Tournament, models.CASCADE, null=True, related_name="notices")
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    cause = models.CharField(max_length=20, blank=True)
    text = models.TextField()
    told = models.BooleanField(default=False)

    class Meta:
        indexes = (models.Index(fields=["id"], condition=Q(told=False), name="notice_untold"),)

    def __str__(self) -> str:
        return self.text


class Webhook(models.Model):
    """An address to which notices of the tournaments that its owner may see are posted.

    secret: signs what is posted, so it is kept as it is; site: the dashboard's address as its owner knows it
    failures: deliveries given up since the last one that arrived
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=80)
    url = models.CharField(max_length=500)
    secret = models.CharField(max_length=64)
    kinds = models.JSONField(help_text="of notices that it is sent")
    site = models.CharField(max_length=300)
    failures = models.PositiveIntegerField(default=0)
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """A notice on its way to a webhook; without one, a test. Sent again until it arrives or is given up.

    key: the same in every attempt, so that a receiver can tell what it has already. Whoever raised `attempts` while it
    is QUEUED may write it, until `due_at`.
    """

    class Status(models.TextChoices):
        QUEUED = "QUEUED", "Queued"
        DELIVERED = "DELIVERED", "Delivered"
        FAILED = "FAILED", "Failed"

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    notice = models.ForeignKey(Notice, models.CASCADE, null=True, related_name="deliveries")
    key = models.UUIDField(default=uuid.uuid4, unique=True)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    result = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    tried_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=["due_at"], condition=Q(status="QUEUED"), name="delivery_queue"),)

    def __str__(self) -> str:
        return f"{self.key} to {self.webhook_id}"
