"""Whether a socket may be open: decided when it opens, again now and then, and when somebody's access changes."""

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any

from webapp.accounts.access import Actor
from webapp.accounts.sockets import Credential, credential_actor, credential_of
from webapp.tournaments import access
from webapp.tournaments.sharing import sharing

STRANGER, HIDDEN, MISSING, TRY_AGAIN = 4401, 4403, 4404, 1013
"""What closes a socket."""

Scope = MutableMapping[str, Any]


def actor_of(scope: Scope) -> Actor | None:
    """Who looks, as of now: by session, token or share link."""
    return _holder(_key(scope))


def strangers_code(scope: Scope) -> int:
    """A link that opens nothing is over; whoever is signed out can sign in again."""
    return STRANGER if _link_token(scope) is None else HIDDEN


def problem(scope: Scope, tournament_id: int) -> int | None:
    """What closes the socket of who may not look, else None."""
    return problems(tournament_id, [(scope, False)])[0]


def problems(tournament_id: int, sockets: Sequence[tuple[Scope, bool]]) -> list[int | None]:
    """What closes each of the sockets, None where it may stay open. Who came by the same is looked up once.

    sockets: with whether it has shown anything
    """
    holder, sees = cache(_holder), cache(access.sees)

    def found(scope: Scope, seen: bool) -> int | None:
        actor = holder(_key(scope))
        if actor is None:
            return strangers_code(scope)
        if sees(actor, tournament_id):
            return None
        return HIDDEN if seen else MISSING

    return [found(scope, seen) for scope, seen in sockets]


def _key(scope: Scope) -> str | Credential | None:
    """What opens the socket: a share link's token, or a person's credential."""
    token = _link_token(scope)
    return credential_of(scope) if token is None else token


def _holder(key: str | Credential | None) -> Actor | None:
    return sharing.link_actor(key) if isinstance(key, str) else credential_actor(key)


def _link_token(scope: Scope) -> str | None:
    token: str | None = scope["url_route"]["kwargs"].get("link_token")
    return token
