"""Who opens a WebSocket."""

from collections.abc import MutableMapping
from typing import Any

from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from webapp.accounts.services import api_token_user
from webapp.security import may_connect


async def user_from_scope(scope: MutableMapping[str, Any]) -> User | None:
    """The user of a socket: by bearer token where no Origin is sent, else by session if the Origin is ours.

    None for everybody else. Needs channels' AuthMiddlewareStack around the consumer for the session's user.
    """
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if not may_connect(headers):
        return None
    if b"origin" not in headers:
        token = headers[b"authorization"].decode("latin1").partition(" ")[2].strip()
        user: User | None = await database_sync_to_async(api_token_user)(token)
        return user
    session_user = scope.get("user")
    if session_user is None or not session_user.is_authenticated or not session_user.is_active:
        return None
    # Resolved, not the lazy object: whoever gets it may hand it to the database.
    resolved: User = await database_sync_to_async(User.objects.get)(pk=session_user.pk)
    return resolved
