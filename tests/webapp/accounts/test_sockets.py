"""Whose a socket is."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User

from tests.webapp import people
from webapp.accounts.services import api_token_create
from webapp.accounts.sockets import credential_actor, credential_of

pytestmark = pytest.mark.django_db(transaction=True)


def scope(user: object = None, **headers: str) -> dict[str, Any]:
    encoded = [(name.encode(), value.encode()) for name, value in {"host": "testserver", **headers}.items()]
    return {"type": "websocket", "headers": encoded, "user": user or AnonymousUser()}


def found(**arguments: Any) -> User | None:
    actor = credential_actor(credential_of(scope(**arguments)))
    return actor and actor.user


@pytest.fixture
def user() -> User:
    return people.person()


def test_a_token_without_origin_is_its_users(user: User) -> None:
    _, text = api_token_create(user=user, name="notebook")
    assert found(authorization=f"Bearer {text}") == user


def test_a_wrong_token_is_nobodys(user: User) -> None:
    assert found(authorization="Bearer podracer_wrong") is None


def test_a_session_needs_an_origin_of_ours(user: User) -> None:
    assert found(user=user, origin="http://testserver") == user
    assert found(user=user, origin="https://evil.example") is None
    assert found(user=user) is None


def test_a_token_does_not_excuse_a_foreign_origin(user: User) -> None:
    _, text = api_token_create(user=user, name="notebook")
    assert found(authorization=f"Bearer {text}", origin="https://evil.example") is None


def test_strangers_and_closed_accounts_are_nobody(user: User) -> None:
    assert found(origin="http://testserver") is None
    User.objects.filter(pk=user.pk).update(is_active=False)
    user.refresh_from_db()
    assert found(user=user, origin="http://testserver") is None
