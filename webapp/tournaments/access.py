"""Who may see, control and share a tournament: the one place that decides.

Everything is a condition on the tournaments' table, so that a list is filtered by the database and one tournament is
decided by the same words. docs/people.md says the same to people.
"""

from dataclasses import dataclass

from django.db.models import Q, QuerySet, Value

from webapp.accounts.access import Actor
from webapp.accounts.models import Project, Role
from webapp.accounts.projects import of_member
from webapp.tournaments.models import Tournament


@dataclass(frozen=True)
class Access:
    """What somebody may do with one tournament; each right includes those before it. Without an id it is not seen."""

    tournament_id: int | None = None
    controls: bool = False
    shares: bool = False

    @property
    def sees(self) -> bool:
        return self.tournament_id is not None


NOTHING = Access()


def visible(actor: Actor) -> Q:
    """Those that `actor` may see."""
    if actor.link_tournament_id is not None:
        return Q(pk=actor.link_tournament_id)
    if actor.user is None:
        return Q(pk__in=[])
    if actor.sees_all:
        return Q()
    return Q(shared=True) | Q(owner=actor.user) | _in_projects(actor)


def _controllable(actor: Actor) -> Q:
    """Those that `actor` may start, stop, change and delete, where their level allows it at all."""
    return Q(owner=actor.user) | _in_projects(actor, Role.RUNNER, Role.ADMIN)


def _shareable(actor: Actor) -> Q:
    """Those of which `actor` may say who sees them, where their level allows it at all."""
    return Q(owner=actor.user) | _in_projects(actor, Role.ADMIN)


def _in_projects(actor: Actor, *roles: Role) -> Q:
    return Q(project__in=Project.objects.filter(of_member(actor, *roles)))


def access_to(actor: Actor, **tournament: object) -> Access:
    """What `actor` may do with the tournament of which `tournament` is true (pk=1, agents=5); one query."""
    found = Tournament.objects.filter(visible(actor), **tournament)
    if not actor.runs or actor.user is None:
        return _access(found, controls=Value(False), shares=Value(False))
    if actor.sees_all:
        return _access(found, controls=Value(True), shares=Value(True))
    return _access(found, controls=_controllable(actor), shares=_shareable(actor))


def _access(tournaments: QuerySet[Tournament], **rights: Q | Value) -> Access:
    row = tournaments.annotate(**rights).values_list("pk", *rights).first()
    # Of a tournament in no project the database knows neither true nor false.
    return Access(row[0], *map(bool, row[1:])) if row else NOTHING


def sees(actor: Actor, tournament_id: int) -> bool:
    return Tournament.objects.filter(visible(actor), pk=tournament_id).exists()
