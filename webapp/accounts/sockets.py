"""Who opens a WebSocket."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from webapp.accounts.access import Actor, actor_of
from webapp.accounts.services import TokenRefusedError, api_token_check
from webapp.security import may_connect


@dataclass(frozen=True)
class Credential:
    """What a socket came with: a bearer token, or a person's session. Equal ones are one and the same."""

    token: str = ""
    user_id: int | None = None
    session_key: str | None = None
    session: Any = field(default=None, compare=False)


def credential_of(scope: MutableMapping[str, Any]) -> Credential | None:
    """A bearer token where no Origin is sent, else a session if the Origin is ours; None for everybody else.

    Needs channels' AuthMiddlewareStack around the consumer for the session's user.
    """
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if not may_connect(headers):
        return None
    if b"origin" not in headers:
        return Credential(token=headers[b"authorization"].decode("latin1").partition(" ")[2].strip())
    user, session = scope.get("user"), scope.get("session")
    if user is None or not user.is_authenticated:
        return None
    return Credential(user_id=user.pk, session_key=getattr(session, "session_key", None), session=session)


def credential_actor(credential: Credential | None) -> Actor | None:
    """Whose it is as of now: a token may have expired, an account been closed, a session ended."""
    if credential is None:
        return None
    if credential.user_id is None:
        return _actor_of_token(credential.token)
    session = credential.session
    if session is not None and not session.exists(session.session_key):
        return None
    return _actor_of_user(credential.user_id)


def _actor_of_token(text: str) -> Actor | None:
    try:
        token = api_token_check(text)
    except TokenRefusedError:
        return None
    return actor_of(token.user, token)


def _actor_of_user(user_id: int) -> Actor | None:
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return actor_of(user) if user else None
