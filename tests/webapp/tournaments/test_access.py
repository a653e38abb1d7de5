"""Who may see, control and share a tournament, for every combination of what the answer depends on."""

from itertools import product

import pytest

from tests.webapp import people
from tests.webapp.tournaments import making
from webapp.accounts.access import Actor
from webapp.accounts.models import ProjectMember, Role, Scope
from webapp.tournaments.access import NOTHING, Access, access_to, sees, visible
from webapp.tournaments.models import Tournament

pytestmark = pytest.mark.django_db
LEVEL = {None: -1, "viewer": 0, "runner": 1, "admin": 2, "read": 0, "run": 1}


def expected(role: str, scope: str, owns: bool, member: str | None, shared: bool) -> tuple[bool, bool, bool]:
    """As docs/people.md says it: sees, controls, shares."""
    everything = role == "admin"
    sees = everything or owns or shared or member is not None
    may_run = role != "viewer" and scope != "read"
    controls = may_run and (everything or owns or LEVEL[member] >= LEVEL["runner"])
    shares = may_run and (everything or owns or member == "admin")
    return sees, controls, shares


def test_every_combination_of_role_scope_ownership_membership_and_sharing_is_as_documented() -> None:
    someone, other = people.person("someone"), people.person("other")
    tournament = making.tournament(owner=other, start=False)
    rows = Tournament.objects.filter(pk=tournament.pk)
    project = people.project()
    for role, scope, owns, member, shared in product(Role, Scope, (True, False), (None, *Role), (True, False)):
        rows.update(owner=someone if owns else other, shared=shared, project=project)
        ProjectMember.objects.all().delete()
        if member:
            ProjectMember.objects.create(project=project, user=someone, role=member)
        actor = Actor(user=someone, role=role, scope=scope)
        found = access_to(actor, pk=tournament.pk)
        case = (role, scope, owns, member, shared)
        assert (found.sees, found.controls, found.shares) == expected(*case), case
        assert sees(actor, tournament.pk) == found.sees, case
        assert Tournament.objects.filter(visible(actor)).exists() == found.sees, case


def test_a_tournament_in_no_project_is_its_owner_s_alone() -> None:
    someone = people.person("someone", Role.RUNNER)
    tournament = making.tournament(start=False)
    people.project(someone=Role.ADMIN)
    actor = Actor(user=someone, role=Role.RUNNER)
    assert access_to(actor, pk=tournament.pk) == NOTHING
    Tournament.objects.update(shared=True)
    assert access_to(actor, pk=tournament.pk) == Access(tournament.pk, controls=False, shares=False)
