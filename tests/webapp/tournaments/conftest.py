"""An owner, and the clients that come as them."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.tournaments import making
from webapp.accounts.services import api_token_create


@pytest.fixture
def owner(db: None) -> User:
    return making.user()


@pytest.fixture
def api(owner: User) -> Client:
    """A program with the owner's API token."""
    _, token = api_token_create(user=owner, name="test")
    return Client(headers={"authorization": f"Bearer {token}"})
