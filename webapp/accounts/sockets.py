"""Who opens a WebSocket."""

from collections.abc import MutableMapping
from typing import Any

from django.contrib.auth.models import User

from webapp.accounts.access import Actor, actor_of
from webapp.accounts.services import TokenRefusedError, api_token_check
from webapp.security import may_connect


def actor_from_scope(scope: MutableMapping[str, Any]) -> Actor | None:
    """Whose a socket is: by bearer token where no Origin is sent, else by session if the Origin is ours.

    None for everybody else. Needs channels' AuthMiddlewareStack around the consumer for the session's user. Looked
    up anew at each call: a token may have expired, an account been closed, a session ended.
    """
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if not may_connect(headers):
        return None
    if b"origin" not in headers:
        return _actor_of_token(headers[b"authorization"].decode("latin1").partition(" ")[2].strip())
    session_user, session = scope.get("user"), scope.get("session")
    if session_user is None or not session_user.is_authenticated:
        return None
    if session is not None and not session.exists(session.session_key):
        return None
    return _actor_of_user(session_user.pk)


def _actor_of_token(text: str) -> Actor | None:
    try:
        token = api_token_check(text)
    except TokenRefusedError:
        return None
    return actor_of(token.user, token)


def _actor_of_user(user_id: int) -> Actor | None:
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return actor_of(user) if user else None
