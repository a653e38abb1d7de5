"""Tournaments found by name, status and environment, and in an order: the page, its refresh and the API alike."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.tournaments import making
from webapp.accounts.services import api_token_create
from webapp.tournaments.models import Tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    """Has three tournaments: the eldest has most env steps, the second the best score, the newest is a draft."""
    owner = making.user()
    low = making.tournament(owner=owner, name="Low sprint", pool={"size": 1}, round={"env_steps": 50_000})
    claimed = making.claim()
    making.progress(claimed, making.point(9000))
    making.finish(claimed, making.result(10.0, env_steps=9000))
    Tournament.objects.filter(pk=low.pk).update(status="PAUSED", running_since=None)
    making.tournament(owner=owner, name="High_sprint", pool={"size": 1})
    making.finish(making.claim(), making.result(90.0, env_steps=1000))
    making.tournament(owner=owner, name="100 % draft", env_id="Acrobot-v1", start=False)
    return owner


@pytest.fixture
def api(user: User) -> Client:
    return Client(headers={"authorization": f"Bearer {api_token_create(user=user, name='list')[1]}"})


def names(api: Client, query: str) -> list[str]:
    answer: dict[str, Any] = api.get(f"/api/tournaments?{query}").json()
    assert answer["count"] == len(answer["items"])
    return [item["name"] for item in answer["items"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["100 % draft", "High_sprint", "Low sprint"]),
        ("search=SPRINT", ["High_sprint", "Low sprint"]),
        ("search=_", ["High_sprint"]),
        ("search=%25", ["100 % draft"]),
        ("search=%00", []),
        ("status=PAUSED", ["Low sprint"]),
        ("env_id=Acrobot-v1", ["100 % draft"]),
        ("env_id=Acrobot-v1&status=RUNNING", []),
        ("sort=score", ["High_sprint", "Low sprint", "100 % draft"]),
        ("sort=env_steps", ["Low sprint", "High_sprint", "100 % draft"]),
        ("sort=score&search=low", ["Low sprint"]),
    ],
)
def test_the_list_and_its_page_are_searched_filtered_and_sorted(
    api: Client, user: User, client: Client, query: str, found: list[str]
) -> None:
    assert names(api, query) == found
    client.force_login(user)
    for path in ("/", "/tournaments/cards/"):
        page = client.get(f"{path}?{query}").content.decode()
        assert re.findall(r'data-label="([^"]+)"', page) == found


@pytest.mark.parametrize(
    ("query", "field"), [("status=LOST", "status"), ("sort=luck", "sort"), (f"search={'x' * 201}", "search")]
)
def test_what_cannot_be_meant_is_refused_by_its_name(api: Client, query: str, field: str) -> None:
    answer = api.get(f"/api/tournaments?{query}")
    assert answer.status_code == 422
    assert field in answer.json()["errors"][0]["field"]


def test_a_page_that_refreshes_or_turns_keeps_what_was_asked(user: User, client: Client) -> None:
    client.force_login(user)
    page = client.get("/?search=sprint&sort=score&status=nonsense").content.decode()
    assert 'data-source="/tournaments/cards/?offset=0&amp;search=sprint&amp;sort=score"' in page
    assert 'href="/?archived=1&amp;search=sprint&amp;sort=score"' in page.replace("1&search", "1&amp;search")
    assert "2 tournaments" in page
    for number in range(30):
        making.tournament(owner=user, name=f"sprint {number}", start=False)
    assert 'href="?offset=24&amp;search=sprint"' in client.get("/?search=sprint").content.decode()


def test_where_nothing_matches_the_page_says_so_and_leads_back(user: User, client: Client) -> None:
    client.force_login(user)
    page = client.get("/?search=marathon&status=PAUSED").content.decode()
    assert "No tournament matches" in page
    assert "“marathon” in its name, the status PAUSED." in page
    assert "Start one now" not in page
