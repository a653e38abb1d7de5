"""What people are told of, and how it reaches them."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from webapp.tournaments.models.tournament import Tournament


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
