"""Signing in and out over HTTP."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.urls import reverse

from webapp.accounts import throttle
from webapp.accounts.models import SignInFailure
from webapp.accounts.services import sign_in_link_create

pytestmark = pytest.mark.django_db
PASSWORD = "a long sentence to remember"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("owner", password=PASSWORD)


def signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_the_right_password_signs_in_and_goes_on_to_next(client: Client, user: User) -> None:
    answer = client.post("/sign-in/", {"username": "owner", "password": PASSWORD, "next": "/tokens/"})
    assert (answer.status_code, answer["Location"]) == (302, "/tokens/")
    assert signed_in(client)


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "http:evil.example",
        "javascript:alert(1)",
        "\\\\evil.example",
        "/\\evil",
    ],
)
def test_open_redirects_are_refused(client: Client, user: User, target: str) -> None:
    answer = client.post("/sign-in/", {"username": "owner", "password": PASSWORD, "next": target})
    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_a_wrong_password_is_refused_in_a_sentence(client: Client, user: User) -> None:
    answer = client.post("/sign-in/", {"username": "owner", "password": "wrong"})
    assert answer.status_code == 403
    assert b"do not match" in answer.content
    assert not signed_in(client)


def test_guessing_is_slowed_down_even_for_the_right_password(client: Client, user: User) -> None:
    for _ in range(throttle.ADDRESS_LIMIT):
        client.post("/sign-in/", {"username": "owner", "password": "wrong"})
    answer = client.post("/sign-in/", {"username": "owner", "password": PASSWORD})
    assert answer.status_code == 429
    assert b"Too many failed sign-ins: try again in 5 minutes." in answer.content
    SignInFailure.objects.update(at=F("at") - throttle.WINDOW - timedelta(seconds=1))
    client.post("/sign-in/", {"username": "owner", "password": PASSWORD})
    assert signed_in(client)


def test_another_address_is_not_shut_out(client: Client, user: User) -> None:
    for _ in range(throttle.ADDRESS_LIMIT):
        client.post("/sign-in/", {"username": "owner", "password": "wrong"}, REMOTE_ADDR="10.0.0.1")
    client.post("/sign-in/", {"username": "owner", "password": PASSWORD}, REMOTE_ADDR="10.0.0.2")
    assert signed_in(client)


def test_a_sign_in_that_works_clears_the_failures(client: Client, user: User) -> None:
    for _ in range(throttle.ADDRESS_LIMIT - 1):
        client.post("/sign-in/", {"username": "owner", "password": "wrong"})
    client.post("/sign-in/", {"username": "owner", "password": PASSWORD})
    assert not SignInFailure.objects.exists()


def test_a_link_signs_in_and_then_is_used_up(client: Client, user: User) -> None:
    path = sign_in_link_create(user, "")
    assert client.get(path)["Location"] == "/"
    assert signed_in(client)
    stranger = Client()
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert b"used already" in answer.content
    assert not signed_in(stranger)


def test_looking_at_a_link_without_opening_it_does_not_use_it_up(client: Client, user: User) -> None:
    path = sign_in_link_create(user, "")
    assert client.head(path).status_code == 405
    client.get(path)
    assert signed_in(client)


def test_guessing_links_is_slowed_down(client: Client, user: User) -> None:
    path = sign_in_link_create(user, "")
    for number in range(throttle.ADDRESS_LIMIT):
        client.get(f"/sign-in/link/guess-{number}/")
    assert client.get(path).status_code == 429


def test_signing_out_needs_a_post_and_ends_the_session(client: Client, user: User) -> None:
    client.force_login(user)
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/")["Location"] == reverse("accounts:sign-in")
    assert not signed_in(client)


def test_the_page_says_where_the_link_is(client: Client) -> None:
    assert b"make run" in client.get("/sign-in/").content
