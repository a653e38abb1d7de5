"""Who acts, and how much they may: the role of a person, capped by the scope of the token that they came with."""

from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum

from django.contrib.auth.models import User
from django.http import HttpRequest

from webapp.accounts.models import ApiToken, Profile, Role, Scope


class Level(IntEnum):
    """What is asked of somebody who wants to do something; each includes those before it."""

    LOOK = 0
    RUN = 1
    ADMIN = 2


ROLE_LEVELS = {Role.VIEWER: Level.LOOK, Role.RUNNER: Level.RUN, Role.ADMIN: Level.ADMIN}
SCOPE_LEVELS = {Scope.READ: Level.LOOK, Scope.RUN: Level.RUN, Scope.ADMIN: Level.ADMIN}


@dataclass(frozen=True)
class Actor:
    """A person, as they came: by session, by token, or as whoever holds a share link and is no person.

    name: the person's, or what acted instead
    link_tournament_id: the only tournament that the holder of a share link sees
    """

    user: User | None = None
    name: str = ""
    role: Role = Role.VIEWER
    scope: Scope = Scope.ADMIN
    token_name: str = ""
    address: str = ""
    link_tournament_id: int | None = None

    @property
    def level(self) -> Level:
        """What they may do where no tournament is concerned."""
        return min(ROLE_LEVELS[self.role], SCOPE_LEVELS[self.scope])

    @property
    def sees_all(self) -> bool:
        return self.role == Role.ADMIN

    @property
    def runs(self) -> bool:
        """For templates, which know no enumerations."""
        return self.level >= Level.RUN

    @property
    def administers(self) -> bool:
        return self.level >= Level.ADMIN


COMMAND_LINE = Actor(name="command line", role=Role.ADMIN)

_acting: ContextVar[Actor] = ContextVar("actor", default=COMMAND_LINE)


def actor_now() -> Actor:
    """Who acts in this request; outside of requests, the command line."""
    return _acting.get()


def actor_set(actor: Actor | None) -> None:
    """The middleware's: begin and (with None) end acting as somebody."""
    _acting.set(actor or COMMAND_LINE)


def actor_of(user: User, token: ApiToken | None = None, *, address: str = "") -> Actor:
    """A person, by session or by `token`."""
    return Actor(
        user=user,
        name=user.get_username(),
        role=role_of(user),
        scope=Scope(token.scope) if token else Scope.ADMIN,
        token_name=token.name if token else "",
        address=address,
    )


def role_of(user: User) -> Role:
    """A superuser of Django's is an admin; who has no profile is a viewer."""
    if user.is_superuser:
        return Role.ADMIN
    found = Profile.objects.filter(user=user).values_list("role", flat=True).first()
    return Role(found) if found else Role.VIEWER


def address_of(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "unknown")


def request_actor(request: HttpRequest) -> Actor:
    """Who asks; the middleware has let nobody else in."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor


def request_user(request: HttpRequest) -> User:
    """The person who asks, of an address that holders of share links never reach."""
    assert isinstance(request.user, User)
    return request.user


def level_problem(actor: Actor, needed: Level) -> str:
    """Why `actor` may not do what needs `needed`, in a sentence; "" where they may."""
    if actor.level >= needed:
        return ""
    if actor.user is None:
        return "A share link is for looking only; sign in to do more."
    if ROLE_LEVELS[actor.role] >= needed:
        scope = next(scope for scope, level in SCOPE_LEVELS.items() if level == needed)
        return f"The scope of this API token is {actor.scope}; this needs {scope}."
    role = next(role for role, level in ROLE_LEVELS.items() if level == needed)
    return f"Your role is {actor.role}; this needs {role}. An admin can change it under People."
