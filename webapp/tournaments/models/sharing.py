"""Who may look."""

from django.conf import settings
from django.db import models

from webapp.tournaments.models.tournament import Tournament


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
