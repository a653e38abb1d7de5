"""Sign-in links, API tokens, and the failures that throttle sign-in. Secrets are kept as hashes only."""

from django.contrib.auth.models import User
from django.db import models


class SignInLink(models.Model):
    """A link that signs its user in once, until it expires."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}, made {self.created_at:%Y-%m-%d %H:%M}"


class ApiToken(models.Model):
    """What a program shows instead of a password. `prefix` is all of it that can be seen again."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=16)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class SignInFailure(models.Model):
    """One failed sign-in. `key` says whose: an address or an account name."""

    key = models.CharField(max_length=200)
    at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=("key", "at")),)

    def __str__(self) -> str:
        return f"{self.key} at {self.at:%Y-%m-%d %H:%M:%S}"
