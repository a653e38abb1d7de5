"""People: who has an account, with which role, and what happens when somebody joins or leaves."""

from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.access import role_of
from webapp.accounts.models import ApiToken, Profile, Role, SignInLink
from webapp.accounts.notices import publish_access
from webapp.accounts.services import OWNER_NAME, AccountError, sign_in_link_create


def person_invite(*, name: str, role: str, base_url: str) -> tuple[User, str]:
    """An account without a password, and the link to hand over, which signs in once. Raises AccountError."""
    name = name.strip()
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        raise AccountError("A name is made of letters, digits and @ . + - _ only, without spaces.") from None
    if len(name) > 150:
        raise AccountError(f"A name has at most 150 characters; this has {len(name)}.")
    with transaction.atomic():
        if User.objects.filter(username__iexact=name).exists():
            raise AccountError(f"There is somebody called {name} already.")
        user = User.objects.create_user(name)
        Profile.objects.create(user=user, role=Role(role))
        audit.record("person_invited", f"Invited {name} as {role}.")
        link = sign_in_link_create(user, base_url)
    return user, link


def person_link_create(*, user_id: int, base_url: str) -> str:
    """A fresh sign-in link for somebody who lost theirs. Raises AccountError, User.DoesNotExist."""
    with transaction.atomic():
        user = _locked(user_id)
        if not user.is_active:
            raise AccountError(f"The account of {user.username} is closed; reopen it first.")
        audit.record("sign_in_link_made", f"Made a sign-in link for {user.username}.")
        return sign_in_link_create(user, base_url)


def person_role_change(*, user_id: int, role: str) -> None:
    """Raises AccountError for the owner, who stays admin; User.DoesNotExist."""
    with transaction.atomic():
        user = _locked(user_id)
        _owner_refuse(user, "stays admin")
        before = role_of(user)
        if before == Role(role):
            return
        Profile.objects.update_or_create(user=user, defaults={"role": Role(role)})
        audit.record("role_changed", f"Made {user.username} {role}, before {before}.")
        publish_access(user.pk)


def person_deactivate(*, user_id: int) -> None:
    """Close an account: its sessions, tokens, links and sockets end at once; what it owns stays.

    Raises AccountError for the owner; User.DoesNotExist.
    """
    with transaction.atomic():
        user = _locked(user_id)
        _owner_refuse(user, "cannot be closed out")
        if not user.is_active:
            return
        user.is_active = False
        user.save(update_fields=["is_active"])
        ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())
        SignInLink.objects.filter(user=user).delete()
        audit.record("person_deactivated", f"Closed the account of {user.username}.")
        publish_access(user.pk)


def person_reactivate(*, user_id: int) -> None:
    """Let somebody in again; their tokens stay revoked. Raises User.DoesNotExist."""
    with transaction.atomic():
        user = _locked(user_id)
        if user.is_active:
            return
        user.is_active = True
        user.save(update_fields=["is_active"])
        audit.record("person_reactivated", f"Reopened the account of {user.username}.")


def people_list() -> QuerySet[Any]:
    """Everybody with role, number of tournaments and of valid tokens; open accounts first."""
    valid = Q(api_tokens__revoked_at=None) & (
        Q(api_tokens__expires_at=None) | Q(api_tokens__expires_at__gt=timezone.now())
    )
    return (
        User.objects.select_related("profile")
        .annotate(
            tournament_count=Count("tournaments", distinct=True),
            token_count=Count("api_tokens", filter=valid, distinct=True),
        )
        .order_by("-is_active", "username")
    )


def _locked(user_id: int) -> User:
    return User.objects.select_for_update().get(pk=user_id)


def _owner_refuse(user: User, sentence: str) -> None:
    if user.username == OWNER_NAME:
        raise AccountError(f"The owner {sentence}: this account is whoever starts the server.")
