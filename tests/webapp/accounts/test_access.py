"""What strangers see, what tokens open, and what forged requests get."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp import people
from webapp.accounts.services import api_token_create, api_token_revoke

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return people.person()


@pytest.mark.parametrize(
    "path", ["/", "/tournaments/new/", "/tournaments/1/", "/agents/1/", "/tokens/", "/admin/", "/no-such"]
)
def test_pages_send_strangers_to_the_sign_in_page(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer["Location"] == ("/sign-in/" if path == "/" else f"/sign-in/?next={path}")


@pytest.mark.parametrize(
    "path", ["/api/tournaments", "/api/environments", "/api/docs", "/api/openapi.json", "/api/no-such", "/metrics"]
)
def test_programs_without_a_token_get_401_and_json(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert "API token" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/sign-in/"])
def test_health_and_sign_in_are_open(client: Client, path: str) -> None:
    assert client.get(path).status_code == 200


def test_a_token_opens_the_api_and_pages(client: Client, user: User) -> None:
    _, text = api_token_create(user=user, name="notebook")
    headers = {"Authorization": f"Bearer {text}"}
    assert client.get("/api/tournaments", headers=headers).status_code == 200
    assert client.get("/", headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/api/tournaments", "/", "/healthz"])
def test_a_wrong_token_is_401_everywhere(client: Client, user: User, path: str) -> None:
    client.force_login(user)
    answer = client.get(path, headers={"Authorization": "Bearer podracer_wrong"})
    assert answer.status_code == 401
    assert "not valid" in answer.json()["detail"]


def test_a_revoked_token_is_refused(client: Client, user: User) -> None:
    token, text = api_token_create(user=user, name="notebook")
    assert api_token_revoke(user=user, token_id=token.pk)
    assert client.get("/api/tournaments", headers={"Authorization": f"Bearer {text}"}).status_code == 401


def test_tokens_need_no_csrf_token(user: User) -> None:
    _, text = api_token_create(user=user, name="notebook")
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/tokens/", {"name": "another"}, headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 201


@pytest.mark.parametrize("path", ["/tokens/", "/sign-out/", "/tournaments/new/", "/api/tournaments"])
def test_a_cookie_without_a_csrf_token_changes_nothing(user: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    answer = client.post(path, "{}", content_type="application/json")
    assert answer.status_code == 403


def test_a_foreign_origin_is_refused_even_with_a_csrf_token(user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    token = client.get("/tokens/").cookies["csrftoken"].value
    for path in ("/tokens/", "/api/tournaments"):
        headers = {"X-CSRFToken": token, "Origin": "https://evil.example"}
        assert client.post(path, {"name": "x"}, headers=headers).status_code == 403


def test_a_new_token_is_shown_once(client: Client, user: User) -> None:
    client.force_login(user)
    answer = client.post("/tokens/", {"name": "notebook"})
    assert answer.status_code == 201
    assert b"podracer_" in answer.content
    page = client.get("/tokens/").content
    assert b"notebook" in page
    assert answer.context["text"].encode() not in page


def test_revoking_is_for_ones_own_tokens(client: Client, user: User) -> None:
    other = User.objects.create_user("other")
    token, _ = api_token_create(user=other, name="theirs")
    client.force_login(user)
    client.post(f"/tokens/{token.pk}/revoke/")
    token.refresh_from_db()
    assert token.revoked_at is None
