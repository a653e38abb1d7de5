"""Django's pages over the tournaments: to look at, not to change."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.tournaments import making


@pytest.fixture
def admin(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.parametrize("model", ["tournament", "agent", "pod", "event", "worker"])
def test_rows_are_listed_and_cannot_be_added(admin: Client, model: str) -> None:
    making.tournament()
    assert admin.get(f"/admin/tournaments/{model}/").status_code == 200
    assert admin.get(f"/admin/tournaments/{model}/add/").status_code == 403


def test_a_tournament_can_be_seen_and_not_deleted(admin: Client) -> None:
    tournament = making.tournament()
    assert admin.get(f"/admin/tournaments/tournament/{tournament.pk}/change/").status_code == 200
    assert admin.post(f"/admin/tournaments/tournament/{tournament.pk}/delete/", {"post": "yes"}).status_code == 403
