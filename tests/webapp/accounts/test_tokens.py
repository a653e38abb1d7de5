"""Scope and expiry of API tokens."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.webapp import people
from webapp.accounts import services
from webapp.accounts.models import ApiToken, Role

pytestmark = pytest.mark.django_db


def test_an_expired_token_is_refused_with_a_sentence_that_says_when() -> None:
    program = people.program_of(people.person(), lifetime_days=30)
    token = ApiToken.objects.get()
    assert timedelta(days=29) < token.expires_at - timezone.now() <= timedelta(days=30)  # type: ignore[operator]
    assert program.get("/api/tournaments").status_code == 200
    token.expires_at = timezone.now()
    token.save()
    answer = program.get("/api/tournaments")
    assert answer.status_code == 401
    assert answer.json()["detail"].startswith(f"The API token 'program' expired on {timezone.now():%Y-%m-%d}")


@pytest.mark.parametrize(
    ("role", "allowed"),
    [(Role.VIEWER, ["read"]), (Role.RUNNER, ["read", "run"]), (Role.ADMIN, ["read", "run", "admin"])],
)
def test_a_token_never_gets_more_than_its_person_may(role: Role, allowed: list[str]) -> None:
    user = people.person("someone", role)
    assert services.scopes_allowed(user) == allowed
    page = people.browser_of(user).get("/tokens/").content.decode()
    assert [scope for scope in ("read", "run", "admin") if f'<option value="{scope}"' in page] == allowed
    for scope in {"read", "run", "admin"} - set(allowed):
        with pytest.raises(services.AccountError, match=f"The role of someone is {role}"):
            services.api_token_create(user=user, name="x", scope=scope)
    token, _ = services.api_token_create(user=user, name="whole")
    assert token.scope == allowed[-1]


def test_a_token_loses_what_its_person_loses() -> None:
    program = people.program_of(people.person("vera"), "admin")
    assert program.get("/people/").status_code == 200
    people.person("vera", Role.RUNNER)
    assert program.get("/people/").status_code == 403
    assert program.get("/tournaments/new/").status_code == 200


def test_only_a_token_of_scope_admin_makes_tokens() -> None:
    owner = people.person()
    for scope, status in (("read", 403), ("run", 403), ("admin", 201)):
        answer = people.program_of(owner, scope).post("/tokens/", {"name": "child", "scope": "read"})
        assert answer.status_code == status, scope


def test_the_page_offers_lifetimes_and_shows_scope_and_expiry() -> None:
    browser = people.browser_of(people.person())
    assert browser.post("/tokens/", {"name": "ci", "scope": "run", "lifetime": "365"}).status_code == 201
    assert browser.post("/tokens/", {"name": "notebook", "scope": "read", "lifetime": ""}).status_code == 201
    ci, notebook = (ApiToken.objects.get(name=name) for name in ("ci", "notebook"))
    assert (ci.scope, notebook.scope, notebook.expires_at) == ("run", "read", None)
    assert f"{ci.expires_at:%Y-%m-%d}" in browser.get("/tokens/").content.decode()
    assert browser.post("/tokens/", {"name": "x", "scope": "run", "lifetime": "7"}).status_code == 400


def test_a_wrong_token_says_nothing_of_others() -> None:
    people.program_of(people.person())
    answer = Client(headers={"authorization": "Bearer podracer_wrong"}).get("/api/tournaments")
    assert answer.json()["detail"].startswith("This API token is not valid")
