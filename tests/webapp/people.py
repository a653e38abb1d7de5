"""People with a role, and what they come with."""

from django.contrib.auth.models import User
from django.test import Client

from webapp.accounts.models import Profile, Project, ProjectMember, Role
from webapp.accounts.services import api_token_create


def person(name: str = "owner", role: str = Role.ADMIN) -> User:
    """Somebody of that name, with that role from now on."""
    user, _ = User.objects.get_or_create(username=name)
    Profile.objects.update_or_create(user=user, defaults={"role": role})
    return user


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def program_of(user: User, scope: str | None = None, lifetime_days: int | None = None) -> Client:
    """A client that sends a token of theirs."""
    _, token = api_token_create(user=user, name="program", scope=scope, lifetime_days=lifetime_days)
    return Client(headers={"authorization": f"Bearer {token}"})


def project(name: str = "team", **members: str) -> Project:
    """A project with members by name and role in it."""
    made = Project.objects.create(name=name)
    for member, role in members.items():
        ProjectMember.objects.create(project=made, user=User.objects.get(username=member), role=role)
    return made
