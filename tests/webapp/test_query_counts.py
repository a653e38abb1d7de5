"""Pages and lists take as many queries for many rows as for few: those that benchmarks/lists.py measures."""

import pytest
from django.contrib.auth.models import User

from benchmarks.lists import asked_of, fill, member_create, queries
from tests.webapp.people import person
from webapp.accounts.services import api_token_create


@pytest.mark.django_db
def test_nothing_takes_more_queries_for_more_tournaments_or_agents() -> None:
    _, admin = api_token_create(user=person(), name="admin")
    member, token = member_create()
    assert isinstance(member, User)
    few = queries(asked_of(fill(member, [8, *[3] * 10]), admin, token))
    many = queries(asked_of(fill(member, [60, *[3] * 12]), admin, token))
    assert many == few
