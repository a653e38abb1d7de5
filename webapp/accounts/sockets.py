"""Who opens a WebSocket."""

from collections.abc import MutableMapping
from typing import Any

from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from webapp.accounts.access import Actor, actor_of
from webapp.accounts.services import TokenRefusedError, api_token_check
from webapp.security import may_connect


async def actor_from_scope(scope: MutableMapping[str, Any]) -> Actor | None:
    """Whose a socket is: by bearer token where no Origin is sent, else by session if the Origin is ours.

    None for everybody else. Needs channels' AuthMiddlewareStack around the consumer for the session's user. Looked
    up anew at each call: a token may have expired, an account been closed, a session ended.
    """
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if not may_connect(headers):
        return None
    if b"origin" not in headers:
        token = headers[b"authorization"].decode("latin1").partition(" ")[2].strip()
        found: Actor | None = await database_sync_to_async(_actor_of_token)(token)
        return found
    session_user, session = scope.get("user"), scope.get("session")
    if session_user is None or not session_user.is_authenticated:
        return None
    if session is not None and not await database_sync_to_async(session.exists)(session.session_key):
        return None
    actor: Actor | None = await database_sync_to_async(_actor_of_user)(session_user.pk)
    return actor


def _actor_of_token(text: str) -> Actor | None:
    try:
        token = api_token_check(text)
    except TokenRefusedError:
        return None
    return actor_of(token.user, token)


def _actor_of_user(user_id: int) -> Actor | None:
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return actor_of(user) if user else None
