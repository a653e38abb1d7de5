"""Who may ask: a token, or a session with a page of ours; nobody else."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.tournaments import making
from webapp.accounts.models import ApiToken
from webapp.accounts.services import api_token_revoke
from webapp.tournaments.models import Tournament

SPEC = json.dumps({"env_id": "CartPole-v1"})
PATHS = [
    "environments",
    "workers",
    "tournaments",
    "tournaments/1",
    "tournaments/1/leaderboard",
    "tournaments/1/pods",
    "tournaments/1/events",
    "agents/1",
    "agents/1/curve",
    "agents/1/checkpoint",
    "openapi.json",
    "docs",
    "nothing",
]


@pytest.mark.django_db
@pytest.mark.parametrize("path", PATHS)
def test_a_stranger_gets_nothing(client: Client, path: str) -> None:
    response = client.get(f"/api/{path}")
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.django_db
def test_a_stranger_changes_nothing(client: Client) -> None:
    tournament = making.tournament()
    here = f"/api/tournaments/{tournament.pk}"
    answers = [
        client.post("/api/tournaments", SPEC, content_type="application/json"),
        client.delete(here),
        client.patch(here, "{}", content_type="application/json"),
        client.post(f"{here}/stop"),
    ]
    assert [answer.status_code for answer in answers] == [401] * 4
    assert Tournament.objects.get().status == "RUNNING"


def test_a_revoked_token_gets_nothing(api: Client, owner: User) -> None:
    assert api.get("/api/tournaments").status_code == 200
    api_token_revoke(user=owner, token_id=ApiToken.objects.get().pk)
    assert api.get("/api/tournaments").status_code == 401


def test_a_session_reads_and_with_the_csrf_token_writes(owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    assert client.get("/api/tournaments").status_code == 200
    page = client.get("/api/docs").content.decode()
    token = page.partition('data-csrf-token="')[2].partition('"')[0]
    assert len(token) >= 32
    headers = {"x-csrftoken": token}
    response = client.post("/api/tournaments", SPEC, content_type="application/json", headers=headers)
    assert response.status_code == 201, response.content


@pytest.mark.parametrize(
    "headers", [{}, {"x-csrftoken": "a" * 32}, {"origin": "http://evil.example"}, {"origin": "null"}]
)
def test_a_session_without_the_csrf_token_changes_nothing(owner: User, headers: dict[str, str]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    tournament = making.tournament()
    here = f"/api/tournaments/{tournament.pk}"
    for answer in (
        client.post("/api/tournaments", SPEC, content_type="application/json", headers=headers),
        client.delete(here, headers=headers),
        client.patch(here, '{"name": "stolen"}', content_type="application/json", headers=headers),
        client.post(f"{here}/stop", headers=headers),
    ):
        assert answer.status_code == 403
    after = Tournament.objects.get()
    assert (after.name, after.status) == (tournament.name, "RUNNING")


def test_a_foreign_origin_is_refused_even_with_the_csrf_token(owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    token = client.get("/api/docs").content.decode().partition('data-csrf-token="')[2].partition('"')[0]
    headers = {"x-csrftoken": token, "origin": "http://evil.example"}
    response = client.post("/api/tournaments", SPEC, content_type="application/json", headers=headers)
    assert response.status_code == 403
    assert Tournament.objects.count() == 0


def test_a_token_needs_no_csrf_token(api: Client) -> None:
    api.handler.enforce_csrf_checks = True
    assert api.post("/api/tournaments", SPEC, content_type="application/json").status_code == 201
