"""Sockets close when access ends: at once, not with the next look that consumers take every few seconds."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp import people
from tests.webapp.tournaments import making
from tests.webapp.tournaments.sockets import Socket
from tests.webapp.tournaments.test_consumers import browser_headers, opened, run, said, token_headers
from webapp.accounts.access import actor_of
from webapp.accounts.models import ApiToken, Project, Role
from webapp.accounts.people import person_deactivate, person_role_change
from webapp.accounts.projects import member_remove
from webapp.accounts.services import api_token_revoke
from webapp.asgi import application
from webapp.tournaments import events
from webapp.tournaments.live import access as socket_access
from webapp.tournaments.live import feed
from webapp.tournaments.models import ShareLink, Tournament
from webapp.tournaments.sharing import sharing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What closes a socket here is the message, not the look."""
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 600.0)


def guest() -> tuple[Tournament, User, Client]:
    """A tournament of olga's in a project of which vera is a runner, and vera's browser."""
    olga, vera = people.person("olga", Role.RUNNER), people.person("vera", Role.RUNNER)
    tournament = making.tournament(owner=olga)
    Tournament.objects.update(project=people.project(olga=Role.ADMIN, vera=Role.RUNNER))
    return tournament, vera, people.browser_of(vera)


def unshare(tournament: Tournament, vera: User) -> None:
    sharing.sharing_change(actor=actor_of(tournament.owner), tournament_id=tournament.pk, project_id=None, shared=False)


LOSSES: dict[str, tuple[Callable[[Tournament, User], Any], int]] = {
    "closed account": (lambda tournament, vera: person_deactivate(user_id=vera.pk), socket_access.STRANGER),
    "left project": (
        lambda tournament, vera: member_remove(project_id=Project.objects.get().pk, name="vera"),
        socket_access.HIDDEN,
    ),
    "made private": (unshare, socket_access.HIDDEN),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_session_s_socket_closes_with(loss: str) -> None:
    tournament, vera, browser = await run(guest)
    async with opened(tournament.pk, browser_headers(browser)) as socket:
        assert (await said(socket))["type"] == "snapshot"
        act, code = LOSSES[loss]
        await run(act, tournament, vera)
        assert await socket.close_code() == code


async def test_signing_out_closes_at_once_and_only_that_person_s_sockets() -> None:
    tournament, _, browser = await run(guest)
    owner = await run(lambda: people.browser_of(tournament.owner))
    async with (
        opened(tournament.pk, browser_headers(browser)) as socket,
        opened(tournament.pk, browser_headers(owner)) as other,
    ):
        await said(socket)
        await said(other)
        await run(browser.post, "/sign-out/", headers={"host": "localhost"})
        assert await socket.close_code() == socket_access.STRANGER
        await run(owner.post, f"/api/tournaments/{tournament.pk}/pause", headers={"host": "localhost"})
        assert (await said(other))["type"] in ("status", "event", "pod")


async def test_revoking_a_token_closes_its_socket() -> None:
    tournament, vera, _ = await run(guest)
    headers = await run(token_headers, vera)
    async with opened(tournament.pk, headers) as socket:
        await said(socket)
        token = await run(ApiToken.objects.get)
        await run(api_token_revoke, user=vera, token_id=token.pk)
        assert await socket.close_code() == socket_access.STRANGER


async def test_a_changed_role_that_takes_no_sight_closes_nothing() -> None:
    tournament, vera, browser = await run(guest)
    async with opened(tournament.pk, browser_headers(browser)) as socket:
        await said(socket)
        await run(person_role_change, user_id=vera.pk, role=Role.VIEWER)
        await run(Tournament.objects.filter(pk=tournament.pk).update, name="renamed")
        await run(events.publish, tournament.pk, "status")
        assert (await said(socket))["data"]["name"] == "renamed"


async def test_what_one_may_not_see_is_not_there() -> None:
    tournament, _, _ = await run(guest)
    stranger = await run(lambda: people.browser_of(people.person("stranger", Role.RUNNER)))
    async with opened(tournament.pk, browser_headers(stranger)) as socket:
        assert await socket.close_code() == socket_access.MISSING


@asynccontextmanager
async def shared(token: str, tournament_id: int) -> AsyncIterator[Socket]:
    """A socket of a browser that holds a link and no session."""
    socket = Socket(application, f"/shared/{token}/ws/tournaments/{tournament_id}/", browser_headers(Client()))
    connected = await socket.connect()
    assert connected
    try:
        yield socket
    finally:
        await socket.disconnect()


def linked() -> tuple[Tournament, str]:
    tournament = making.tournament()
    actor = actor_of(tournament.owner)
    return tournament, sharing.link_create(
        actor=actor, tournament_id=tournament.pk, name="reviewers", lifetime_days=None
    )[1]


async def test_a_share_link_s_socket_shows_its_tournament_until_the_link_is_revoked() -> None:
    tournament, token = await run(linked)
    async with shared(token, tournament.pk) as socket:
        assert (await said(socket))["data"]["tournament"]["id"] == str(tournament.pk)
        link = await run(ShareLink.objects.get)
        await run(sharing.link_revoke, tournament_id=tournament.pk, link_id=link.pk)
        assert await socket.close_code() == socket_access.HIDDEN


async def test_a_share_link_opens_no_other_tournament_s_socket() -> None:
    tournament, token = await run(linked)
    other = await run(making.tournament)
    async with shared(token, other.pk) as socket:
        assert await socket.close_code() == socket_access.MISSING
    async with shared("guessed", tournament.pk) as socket:
        assert await socket.close_code() == socket_access.HIDDEN


def scope(headers: list[tuple[bytes, bytes]], link: str | None = None, **session: Any) -> dict[str, Any]:
    return {"headers": headers, "url_route": {"kwargs": {"link_token": link}}, **session}


def test_a_look_asks_once_for_all_who_came_by_the_same() -> None:
    tournament, vera, browser = guest()
    owner = actor_of(tournament.owner)
    _, link = sharing.link_create(actor=owner, tournament_id=tournament.pk, name="reviewers", lifetime_days=None)
    kinds = [
        scope(token_headers(vera)),
        scope(browser_headers(browser), user=vera, session=browser.session),
        scope(browser_headers(Client()), link),
    ]

    def look(viewers: int) -> tuple[list[int | None], int]:
        with CaptureQueriesContext(connection) as captured:
            found = socket_access.problems(tournament.pk, [(dict(kind), True) for kind in kinds * viewers])
        return found, len(captured)

    look(1)  # notes that they are used
    assert look(1)[0] == [None] * 3
    assert look(50) == ([None] * 150, look(1)[1])
    member_remove(project_id=Project.objects.get().pk, name="vera")
    assert look(50)[0] == [socket_access.HIDDEN, socket_access.HIDDEN, None] * 50
    browser.post("/sign-out/")
    sharing.link_revoke(tournament_id=tournament.pk, link_id=ShareLink.objects.get().pk)
    assert look(50)[0] == [socket_access.HIDDEN, socket_access.STRANGER, socket_access.HIDDEN] * 50
