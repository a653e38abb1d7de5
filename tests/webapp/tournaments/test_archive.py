"""Archived tournaments: off the list, under a filter, whole."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import holds, patch, refused
from webapp.accounts.models import AuditEntry
from webapp.tournaments import schemas, services
from webapp.tournaments.models import Event, Tournament

pytestmark = pytest.mark.django_db


def ended(name: str) -> Tournament:
    tournament = making.board(50.0, name=name)
    services.tournament_stop(tournament_id=tournament.pk)
    return tournament


def names(answer: Any) -> list[str]:
    return [item["name"] for item in json.loads(answer.content)["items"]]


def test_an_archived_tournament_is_under_its_filter_and_comes_back_whole(api: Client) -> None:
    old, new = ended("old one"), ended("new one")
    body = holds(schemas.TournamentOut, patch(api, old, {"archived": True}))
    assert (body["archived"], body["best_score"]) == (True, 50.0)
    assert names(api.get("/api/tournaments")) == ["new one", "old one"]
    assert names(api.get("/api/tournaments?archived=true")) == ["old one"]
    assert names(api.get("/api/tournaments?archived=false")) == ["new one"]
    patch(api, old, {"archived": True})
    assert Event.objects.filter(tournament=old, kind="archived").count() == 1
    assert AuditEntry.objects.get(kind="tournament_archived").text == "Archived the tournament old one."
    holds(schemas.TournamentOut, patch(api, old, {"archived": False}))
    assert names(api.get("/api/tournaments?archived=false")) == ["new one", "old one"]
    assert new.agents.filter(checkpoint_file="").count() == old.agents.filter(checkpoint_file="").count()


def test_the_list_leaves_archived_ones_out_and_offers_them(client: Client, owner: Any) -> None:
    client.force_login(owner)
    assert "?archived=1" not in client.get("/").content.decode()
    assert "Nothing is archived" in client.get("/?archived=1").content.decode()
    old = ended("old one")
    services.tournament_update(tournament_id=old.pk, archived=True)
    assert "?archived=1" in client.get("/").content.decode()
    services.tournament_update(tournament_id=old.pk, archived=False)
    ended("new one")
    services.tournament_update(tournament_id=old.pk, archived=True)
    page, archived = client.get("/").content.decode(), client.get("/?archived=1").content.decode()
    assert ("old one" in page, "new one" in page) == (False, True)
    assert ("old one" in archived, "new one" in archived) == (True, False)
    assert "/tournaments/cards/?offset=0&amp;archived=1" in archived
    cards = client.get("/tournaments/cards/?offset=0&archived=1").content.decode()
    assert ("old one" in cards, "new one" in cards) == (True, False)


def test_one_that_has_not_ended_is_not_archived(api: Client) -> None:
    tournament = making.tournament()
    message = refused(patch(api, tournament, {"archived": True}), 409)[""]
    assert "is RUNNING and cannot be archived" in message
    assert not Tournament.objects.get().archived
    assert "archived" in refused(patch(api, tournament, {"archived": "yes"}))
