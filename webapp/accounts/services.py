"""Every write of accounts: the owner, API tokens, sign-in links."""

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
from webapp.accounts.models import ApiToken, SignInLink

OWNER_NAME = "owner"
OWNER_TOKEN_NAME = "owner-token file"  # noqa: S105 - a label
OWNER_APPS = ("accounts", "tournaments")
TOKEN_PREFIX = "podracer_"  # noqa: S105 - how every token starts
LINK_LIFETIME = timedelta(hours=24)
LAST_USED_RESOLUTION = timedelta(minutes=1)


class AccountError(PodracerError):
    """A name, password or token that cannot be taken."""


def owner_ensure(token_file: Path) -> User:
    """The owner, and in `token_file` (mode 0600) a valid API token of theirs; both are made where missing."""
    owner = _owner_get()
    with transaction.atomic():
        # Two processes that start at once must not each write a token and revoke the other's.
        User.objects.select_for_update().get(pk=owner.pk)
        _owner_permissions_ensure(owner)
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
    try:
        validate_password(password, owner)
    except ValidationError as error:
        raise AccountError(f"This password is not taken: {' '.join(error.messages)}") from None
    owner.set_password(password)
    owner.save(update_fields=["password"])
    return owner


def api_token_create(*, user: User, name: str) -> tuple[ApiToken, str]:
    """A new token and its text, which is shown now and never again."""
    name = " ".join(name.split())
    if not name or len(name) > 80 or not name.isprintable():
        raise AccountError("Give the token a name of 1 to 80 characters that says where it is used.")
    text = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(user=user, name=name, token_hash=token_hash(text), prefix=text[:14])
    return token, text


def api_token_revoke(*, user: User, token_id: int) -> bool:
    """Revoke one of the user's tokens; False where they have no such valid one."""
    tokens = ApiToken.objects.filter(user=user, pk=token_id, revoked_at=None)
    return bool(tokens.update(revoked_at=timezone.now()))


def api_token_user(text: str) -> User | None:
    """Whose valid token this is; notes that it was used."""
    token = (
        ApiToken.objects.select_related("user")
        .filter(token_hash=token_hash(text), revoked_at=None, user__is_active=True)
        .first()
    )
    if token is None:
        return None
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_RESOLUTION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token.user


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


def _owner_permissions_ensure(owner: User) -> None:
    """The admin pages of Podracer's own data; not of users and groups."""
    owner.user_permissions.add(*Permission.objects.filter(content_type__app_label__in=OWNER_APPS))


def _token_file_holds(path: Path, owner: User) -> bool:
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return False
    return ApiToken.objects.filter(user=owner, token_hash=token_hash(text), revoked_at=None).exists()


def _owner_token_write(owner: User, path: Path) -> None:
    ApiToken.objects.filter(user=owner, name=OWNER_TOKEN_NAME, revoked_at=None).update(revoked_at=timezone.now())
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
