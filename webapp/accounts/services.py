"""Writes of accounts that are not about other people: the owner, API tokens, passwords, sign-in links."""

import contextlib
import hashlib
import os
import secrets
import tempfile
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import Permission, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from podracer_core.errors import PodracerError
from webapp.accounts import audit
from webapp.accounts.access import ROLE_LEVELS, SCOPE_LEVELS, actor_now, role_of
from webapp.accounts.models import ApiToken, Profile, Role, Scope, SignInLink
from webapp.accounts.notices import publish_access

OWNER_NAME = "owner"
OWNER_TOKEN_NAME = "owner-token file"  # noqa: S105 - a label
OWNER_APPS = ("accounts", "tournaments")
TOKEN_PREFIX = "podracer_"  # noqa: S105 - how every token starts
LINK_LIFETIME = timedelta(hours=24)
LAST_USED_RESOLUTION = timedelta(minutes=1)
LIFETIMES = (30, 90, 365)
"""Days that a token or a share link may be given; it may also never expire."""


class AccountError(PodracerError):
    """A name, password, role or token that cannot be taken."""


class TokenRefusedError(PodracerError):
    """An API token that opens nothing; the text says why."""


def owner_ensure(token_file: Path) -> User:
    """The owner, and in `token_file` (mode 0600) a valid API token of theirs; both are made where missing."""
    owner = _owner_get()
    with transaction.atomic():
        # Two processes that start at once must not each write a token and revoke the other's.
        User.objects.select_for_update().get(pk=owner.pk)
        _owner_rights_ensure(owner)
        if _token_file_holds(token_file, owner):
            token_file.chmod(0o600)
        else:
            _owner_token_write(owner, token_file)
    return owner


def owner_token_rotate(token_file: Path) -> User:
    """Replace the token in `token_file`; the old one is revoked."""
    owner = _owner_get()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        _owner_token_write(owner, token_file)
    return owner


def owner_password_set(password: str) -> User:
    """Set the owner's password. Raises AccountError, saying what is wrong with it."""
    owner = _owner_get()
    password_set(user=owner, password=password)
    return owner


def password_set(*, user: User, password: str) -> None:
    """Raises AccountError, saying what is wrong with it."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise AccountError(f"This password is not taken: {' '.join(error.messages)}") from None
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        audit.record("password_set", f"Set the password of {user.username}.")
        publish_access(user.pk)


def api_token_create(
    *, user: User, name: str, scope: str | None = None, lifetime_days: int | None = None
) -> tuple[ApiToken, str]:
    """A new token and its text, which is shown now and never again. Without a scope it may do all that its person may.

    Raises AccountError for a name that cannot be shown, and for a scope beyond the person's role.
    """
    name = " ".join(name.split())
    if not name or len(name) > 80 or not name.isprintable():
        raise AccountError("Give the token a name of 1 to 80 characters that says where it is used.")
    text = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(days=lifetime_days) if lifetime_days else None
    scopes = scopes_allowed(user)
    if scope is not None and scope not in scopes:
        raise AccountError(f"The role of {user.username} is {role_of(user)}: a token may have {' or '.join(scopes)}.")
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name,
            token_hash=token_hash(text),
            prefix=text[:14],
            scope=scope or scopes[-1],
            expires_at=expires_at,
        )
        until = f", until {expires_at:%Y-%m-%d}" if expires_at else ""
        audit.record("token_created", f"Made the API token {name} of {user.username}: {token.scope}{until}.")
    return token, text


def scopes_allowed(user: User) -> list[Scope]:
    """What a new token of theirs may be for: never more than their role, or than the token that asks for it."""
    highest = min(ROLE_LEVELS[role_of(user)], actor_now().level)
    return [scope for scope, level in SCOPE_LEVELS.items() if level <= highest]


def api_token_revoke(*, user: User, token_id: int) -> bool:
    """Revoke one of the user's tokens; False where they have no such valid one."""
    with transaction.atomic():
        token = ApiToken.objects.select_for_update().filter(user=user, pk=token_id, revoked_at=None).first()
        if token is None:
            return False
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        audit.record("token_revoked", f"Revoked the API token {token.name} of {user.username}.")
        publish_access(user.pk)
    return True


def api_token_check(text: str) -> ApiToken:
    """The valid token that this is, with its user; notes that it was used. Raises TokenRefusedError."""
    token = ApiToken.objects.select_related("user").filter(token_hash=token_hash(text)).first()
    if token is None or not token.user.is_active:
        raise TokenRefusedError("This API token is not valid: mistyped, revoked, or of another installation.")
    if token.revoked_at:
        raise TokenRefusedError(f"The API token {token.name!r} was revoked, so it is not valid any more.")
    now = timezone.now()
    if token.expires_at and token.expires_at <= now:
        expired = f"The API token {token.name!r} expired on {token.expires_at:%Y-%m-%d} and is not valid any more"
        raise TokenRefusedError(f"{expired}; make another under API tokens.")
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_RESOLUTION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def sign_in_link_create(user: User, base_url: str) -> str:
    """An address that signs `user` in once within 24 hours. Links past their use are forgotten."""
    now = timezone.now()
    SignInLink.objects.filter(Q(expires_at__lt=now) | Q(used_at__lt=F("expires_at"))).delete()
    text = secrets.token_urlsafe(32)
    SignInLink.objects.create(user=user, token_hash=token_hash(text), expires_at=now + LINK_LIFETIME)
    return base_url.rstrip("/") + reverse("accounts:sign-in-link", args=[text])


def sign_in_link_consume(text: str) -> User | None:
    """The user of a link that is neither used nor expired; it is used from now on."""
    now = timezone.now()
    links = SignInLink.objects.filter(
        token_hash=token_hash(text), used_at=None, expires_at__gt=now, user__is_active=True
    )
    # Of two requests at once only one changes the row.
    if not links.update(used_at=now):
        return None
    return SignInLink.objects.select_related("user").get(token_hash=token_hash(text)).user


def token_hash(text: str) -> str:
    """SHA-256 in hex. The secrets are 256 random bits, so neither salt nor stretching would add anything."""
    return hashlib.sha256(text.encode()).hexdigest()


def _owner_get() -> User:
    owner, created = User.objects.get_or_create(username=OWNER_NAME, defaults={"is_staff": True})
    if created:
        owner.set_unusable_password()
        owner.save(update_fields=["password"])
    return owner


def _owner_rights_ensure(owner: User) -> None:
    """The role of an admin, and the look-only pages of Podracer's own data."""
    Profile.objects.update_or_create(user=owner, defaults={"role": Role.ADMIN})
    owner.user_permissions.add(*Permission.objects.filter(content_type__app_label__in=OWNER_APPS))


def _token_file_holds(path: Path, owner: User) -> bool:
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return False
    return ApiToken.objects.filter(user=owner, token_hash=token_hash(text), revoked_at=None, expires_at=None).exists()


def _owner_token_write(owner: User, path: Path) -> None:
    _owner_rights_ensure(owner)
    ApiToken.objects.filter(user=owner, name=OWNER_TOKEN_NAME, revoked_at=None).update(revoked_at=timezone.now())
    publish_access(owner.pk)
    _, text = api_token_create(user=owner, name=OWNER_TOKEN_NAME)
    _write_private(path, text + "\n")


def _write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600, whole or not at all."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(draft).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(draft).unlink()
        raise
