"""Agents, their places among the best, and the rungs of successive halving."""

from django.db import models
from django.db.models import F, Q

from webapp.tournaments.models.tournament import Tournament

# A foreign key to the tournament has no index of its own where one of the model's begins with it: pods write much.


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

    PARENT = (
        "id",
        "index",
        "algorithm",
        "hyperparameters",
        "num_envs",
        "stage",
        "team",
        "promotable",
        "founder_index",
        "depth",
        "base_env_steps",
        "env_steps",
        "score",
    )
    """What is read of one that may become a parent."""

    known_parents: "list[Agent] | None" = None
    """Where they were read with it, see lineage.py."""

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
