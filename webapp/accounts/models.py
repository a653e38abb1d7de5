"""People's roles, projects, sign-in links, API tokens, the audit log, and the failures that throttle sign-in.

Secrets are kept as hashes only.
"""

from django.contrib.auth.models import User
from django.db import models


class Role(models.TextChoices):
    """What a person may do in the installation, or in a project; each includes those before it."""

    VIEWER = "viewer", "Viewer"
    RUNNER = "runner", "Runner"
    ADMIN = "admin", "Admin"


class Scope(models.TextChoices):
    """What a token lets its holder do, as far as the role of its person allows."""

    READ = "read", "Read"
    RUN = "run", "Read and run"
    ADMIN = "admin", "Everything"


class Profile(models.Model):
    """A person's role in the installation. Who has no profile is a viewer."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="profile")
    role = models.CharField(max_length=6, choices=Role.choices, default=Role.VIEWER)

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class Project(models.Model):
    """A team, and what its members see together."""

    name = models.CharField(max_length=80, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class ProjectMember(models.Model):
    """Somebody's place in a project. A viewer looks, a runner controls its tournaments, an admin keeps its members."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=6, choices=Role.choices, default=Role.RUNNER)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "user"], name="project_member_unique"),)

    def __str__(self) -> str:
        return f"{self.user} in {self.project}: {self.role}"


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
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.ADMIN)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="null = never")
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


class AuditEntry(models.Model):
    """Who did what, when and from where. Names are kept as they were: people, tokens and tournaments may go.

    actor_name: also of a sign-in that failed, and of what acted without being a person
    tournament_id: a number and no reference, so that it outlives the tournament
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True)
    token_name = models.CharField(max_length=80, blank=True)
    address = models.CharField(max_length=45, blank=True)
    kind = models.CharField(max_length=30)
    text = models.TextField()
    tournament_id = models.BigIntegerField(null=True)

    class Meta:
        ordering = ("-pk",)
        indexes = (
            models.Index(fields=["actor_name", "-id"], name="audit_of_person"),
            models.Index(fields=["kind", "-id"], name="audit_of_kind"),
        )

    def __str__(self) -> str:
        return self.text
