"""Inviting people, changing what they are, closing accounts; and one's own password."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp import people
from webapp.accounts.access import role_of
from webapp.accounts.models import AuditEntry, Role
from webapp.accounts.services import owner_ensure

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    return people.browser_of(people.person("ada"))


def link_in(page: str) -> str:
    found = re.search(r"http://testserver(/sign-in/link/[^<]+)", page)
    assert found
    return found[1]


def test_somebody_invited_signs_in_by_the_link_and_is_what_they_were_invited_as(admin: Client) -> None:
    answer = admin.post("/people/", {"name": "vera", "role": "viewer"})
    assert answer.status_code == 201
    path = link_in(answer.content.decode())
    assert path not in admin.get("/people/").content.decode()
    guest = Client()
    assert guest.get(path)["Location"] == "/"
    assert guest.get("/").status_code == 200
    assert role_of(User.objects.get(username="vera")) == Role.VIEWER
    assert guest.get("/people/").status_code == 403


@pytest.mark.parametrize(
    ("name", "says"), [("ada", "already"), ("ADA", "already"), ("two words", "without spaces"), ("", "required")]
)
def test_a_name_that_cannot_be_is_refused_beside_its_field(admin: Client, name: str, says: str) -> None:
    answer = admin.post("/people/", {"name": name, "role": "viewer"})
    assert answer.status_code == 400
    assert says in " ".join(answer.context["form"].errors["name"])
    assert User.objects.count() == 1


def test_a_role_changes_what_somebody_may_do_at_once(admin: Client) -> None:
    vera = people.person("vera", Role.VIEWER)
    browser = people.browser_of(vera)
    assert browser.get("/tournaments/new/").status_code == 403
    assert admin.post(f"/people/{vera.pk}/", {"action": "role", "role": "runner"}).status_code == 302
    assert browser.get("/tournaments/new/").status_code == 200


def test_closing_an_account_ends_sessions_tokens_and_links_and_reopening_brings_no_token_back(admin: Client) -> None:
    vera = people.person("vera", Role.RUNNER)
    browser, program = people.browser_of(vera), people.program_of(vera)
    link = link_in(admin.post(f"/people/{vera.pk}/", {"action": "link"}).content.decode())
    admin.post(f"/people/{vera.pk}/", {"action": "deactivate"})
    assert browser.get("/").status_code == 302
    assert program.get("/api/tournaments").status_code == 401
    assert Client().get(link).status_code == 403
    admin.post(f"/people/{vera.pk}/", {"action": "reactivate"})
    assert program.get("/api/tournaments").status_code == 401
    assert people.browser_of(vera).get("/").status_code == 200


@pytest.mark.parametrize("action", ["deactivate", "role"])
def test_the_owner_stays(admin: Client, action: str) -> None:
    owner = people.person("owner")
    answer = admin.post(f"/people/{owner.pk}/", {"action": action, "role": "viewer"})
    assert answer.status_code == 409
    assert b"whoever starts the server" in answer.content
    owner.refresh_from_db()
    assert (owner.is_active, role_of(owner)) == (True, Role.ADMIN)


def test_whoever_starts_the_server_is_admin(tmp_path: Path) -> None:
    people.person("owner", Role.VIEWER)
    assert role_of(owner_ensure(tmp_path / "owner-token")) == Role.ADMIN


def test_an_admin_revokes_the_tokens_of_others(admin: Client) -> None:
    vera = people.person("vera", Role.RUNNER)
    program = people.program_of(vera)
    assert program.get("/api/tournaments").status_code == 200
    admin.post(f"/people/{vera.pk}/", {"action": "revoke", "token": str(vera.api_tokens.get().pk)})
    answer = program.get("/api/tournaments")
    assert (answer.status_code, "was revoked" in answer.json()["detail"]) == (401, True)


@pytest.mark.parametrize(
    "values", [{"action": "promote"}, {"action": "role", "role": "king"}, {}, {"action": "revoke", "token": "x"}]
)
def test_nonsense_changes_nothing(admin: Client, values: dict[str, str]) -> None:
    vera = people.person("vera", Role.RUNNER)
    before = AuditEntry.objects.count()
    assert admin.post(f"/people/{vera.pk}/", values).status_code in (302, 409)
    assert admin.get("/people/999999/").status_code == 404
    assert AuditEntry.objects.count() == before


def test_one_sets_ones_own_password_and_stays_signed_in_while_other_sessions_end() -> None:
    vera = people.person("vera", Role.VIEWER)
    here, elsewhere = people.browser_of(vera), people.browser_of(vera)
    assert here.post("/password/", {"password": "short", "again": "short"}).status_code == 400
    assert here.post("/password/", {"password": "a long sentence", "again": "another"}).status_code == 400
    answer = here.post("/password/", {"password": "a long sentence", "again": "a long sentence"})
    assert (answer.status_code, here.get("/").status_code, elsewhere.get("/").status_code) == (200, 200, 302)
    stranger = Client()
    stranger.post("/sign-in/", {"username": "vera", "password": "a long sentence"})
    assert stranger.get("/").status_code == 200


def test_the_list_takes_as_many_queries_however_many_people(admin: Client) -> None:
    with CaptureQueriesContext(connection) as few:
        admin.get("/people/")
    for number in range(5):
        people.program_of(people.person(f"person{number}", Role.RUNNER))
    with CaptureQueriesContext(connection) as many:
        admin.get("/people/")
    assert len(many) == len(few)
