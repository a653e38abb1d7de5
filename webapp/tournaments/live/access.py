"""Whether a socket may be open: decided when it opens, again now and then, and when somebody's access changes."""

from collections.abc import MutableMapping
from typing import Any

from webapp.accounts.access import Actor
from webapp.accounts.sockets import actor_from_scope
from webapp.tournaments import access
from webapp.tournaments.sharing import sharing

STRANGER, HIDDEN, MISSING, TRY_AGAIN = 4401, 4403, 4404, 1013
"""What closes a socket."""

Scope = MutableMapping[str, Any]


def actor_of(scope: Scope) -> Actor | None:
    """Who looks, as of now: by session, token or share link."""
    token = _link_token(scope)
    return actor_from_scope(scope) if token is None else sharing.link_actor(token)


def strangers_code(scope: Scope) -> int:
    """A link that opens nothing is over; whoever is signed out can sign in again."""
    return STRANGER if _link_token(scope) is None else HIDDEN


def problem(scope: Scope, tournament_id: int, seen: bool = False) -> int | None:
    """What closes the socket of who may not look (any more), else None. seen: whether it has shown anything"""
    actor = actor_of(scope)
    if actor is None:
        return strangers_code(scope)
    if access.sees(actor, tournament_id):
        return None
    return HIDDEN if seen else MISSING


def _link_token(scope: Scope) -> str | None:
    token: str | None = scope["url_route"]["kwargs"].get("link_token")
    return token
