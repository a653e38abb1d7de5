"""The viewers' WebSocket, through the real ASGI application, PostgreSQL and Valkey."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from podracer_core.tournament.statistics import summarise
from tests.webapp.tournaments import making
from tests.webapp.tournaments.sockets import Socket
from webapp.accounts.services import api_token_create, api_token_revoke
from webapp.asgi import application
from webapp.tournaments import events, orchestrator, services
from webapp.tournaments.artefacts import artefacts, ensembles
from webapp.tournaments.artefacts.artefacts import MadeFile
from webapp.tournaments.live import feed
from webapp.tournaments.models import Tournament

pytestmark = pytest.mark.django_db(transaction=True)

Said = dict[str, Any]


async def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function` in another thread and on a connection of its own, as in another process."""
    return await database_sync_to_async(function, thread_sensitive=False)(*args, **kwargs)


def token_headers(user: User) -> list[tuple[bytes, bytes]]:
    _, token = api_token_create(user=user, name="socket")
    return [(b"host", b"testserver"), (b"authorization", f"Bearer {token}".encode())]


def browser_headers(client: Client, origin: str = "http://localhost") -> list[tuple[bytes, bytes]]:
    session = client.cookies.get(settings.SESSION_COOKIE_NAME)
    cookie = f"{settings.SESSION_COOKIE_NAME}={session.value}" if session else ""
    return [(b"host", b"localhost"), (b"origin", origin.encode()), (b"cookie", cookie.encode())]


@asynccontextmanager
async def opened(tournament_id: Any, headers: list[tuple[bytes, bytes]]) -> AsyncIterator[Socket]:
    socket = Socket(application, f"/ws/tournaments/{tournament_id}/", headers=headers)
    connected = await socket.connect()
    assert connected
    try:
        yield socket
    finally:
        await socket.disconnect()


@asynccontextmanager
async def watching(tournament: Tournament) -> AsyncIterator[tuple[Socket, Said]]:
    """A program's socket and its snapshot."""
    headers = await run(lambda: token_headers(tournament.owner))
    async with opened(tournament.pk, headers) as socket:
        snapshot = await said(socket)
        assert (snapshot["type"], snapshot["seq"]) == ("snapshot", 0)
        yield socket, snapshot


async def told(socket: Socket, timeout: float = 5) -> Said:
    message: Said = json.loads(await socket.text(timeout), parse_constant=pytest.fail)
    assert set(message) == {"seq", "revision", "type", "data"}
    return message


async def said(socket: Socket, timeout: float = 5) -> Said:
    """The next message that says anything."""
    while (message := await told(socket, timeout))["type"] == "heartbeat":
        pass
    return message


async def said_until(socket: Socket, holds: Callable[[Said], bool], timeout: float = 10) -> list[Said]:
    """All messages up to the first one that `holds`."""
    heard: list[Said] = []
    async with asyncio.timeout(timeout):
        while not heard or not holds(heard[-1]):
            heard.append(await said(socket, timeout))
    return heard


async def test_a_viewer_first_gets_a_snapshot_of_all_that_the_page_shows() -> None:
    tournament = await run(making.tournament)
    claimed = await run(making.claim)
    await run(making.progress, claimed, making.point(10), making.point(20, float("nan")))
    async with watching(tournament) as (_, snapshot):
        data = snapshot["data"]
        assert set(data) == {"tournament", "leaderboard", "pods", "events", "curves"}
        assert data["curves"][str(claimed.agent_id)]["episodic_return"] == [1.0, None]
        assert snapshot["revision"] == data["tournament"]["revision"] > 0


async def test_changes_come_in_order_with_seq_and_the_shapes_of_the_matching_get() -> None:
    tournament = await run(making.tournament)
    async with watching(tournament) as (socket, snapshot):
        claimed = await run(making.claim)
        await run(making.progress, claimed, making.point(10, 3.0, entropy=0.5))
        curve = (await said_until(socket, lambda message: message["type"] == "curve"))[-1]["data"]
        await run(making.finish, claimed, making.result(55.0))
        kinds: Said = {}

        def all_said(message: Said) -> bool:
            """One result is several messages, which may fall into two windows."""
            kinds[message["type"]] = message["data"]
            return kinds.keys() >= {"status", "leaderboard", "pod", "event"}

        heard = await said_until(socket, all_said)
        assert (curve["agent"], curve["attempt"], curve["env_steps"]) == (str(claimed.agent_id), 1, [10])
        assert (curve["episodic_return"], curve["entropy"], curve["sent_at"]) == ([3.0], [0.5], 1_700_000_010.0)
        assert kinds["leaderboard"]["items"][0]["score"] == 55.0
        assert kinds["event"]["kind"] == "agent_entered"
        assert kinds["status"]["best_score"] == 55.0
        assert heard[-1]["seq"] > heard[0]["seq"] > snapshot["seq"]
        assert [message["seq"] for message in heard] == list(range(heard[0]["seq"], heard[-1]["seq"] + 1))
        assert sorted(message["revision"] for message in heard) == [message["revision"] for message in heard]
        assert not any(message["type"] == "snapshot" for message in heard)


async def test_an_ensemble_is_followed_from_being_asked_for_to_its_place() -> None:
    tournament = await run(making.board, 90, 70)

    async def states(socket: Socket, holds: Callable[[Said], bool]) -> Said:
        heard = await said_until(socket, lambda message: message["type"] == "leaderboard" and holds(message["data"]))
        return dict(heard[-1]["data"])

    async with watching(tournament) as (socket, _):
        await run(ensembles.ensemble_request, tournament_id=tournament.pk, size=2)
        await states(socket, lambda board: [one["status"] for one in board["making"]] == ["QUEUED"])
        claimed = await run(artefacts.artefact_claim, worker="w")
        await states(socket, lambda board: [one["status"] for one in board["making"]] == ["RUNNING"])
        made, evaluation = MadeFile("ensemble.safetensors", "ab", 2), summarise([80, 82], [10, 10])
        await run(ensembles.ensemble_finish, claim=claimed, made=made, evaluation=evaluation)
        board = await states(socket, lambda board: not board["making"])
        assert [item["kind"] for item in board["items"]] == ["agent", "ensemble", "agent"]


async def test_a_burst_of_changes_is_coalesced() -> None:
    tournament = await run(making.tournament)
    claimed = await run(making.claim)
    async with watching(tournament) as (socket, _):
        for step in range(1, 61):
            await run(making.progress, claimed, making.point(step))
            await run(events.publish, tournament.pk, "status")
        curves: list[int] = []
        messages = 0
        async with asyncio.timeout(10):
            while len(curves) < 60:
                message = await said(socket)
                messages += 1
                assert message["type"] in ("curve", "status")
                curves += message["data"]["env_steps"] if message["type"] == "curve" else []
        assert curves == list(range(1, 61))
        assert messages < 60


async def test_a_missing_message_brings_a_snapshot() -> None:
    tournament = await run(making.tournament)
    async with watching(tournament) as (socket, snapshot):
        changes = [{"kind": "status", "key": None, "data": None}]
        messages = [{"revision": snapshot["revision"] + 2, "changes": changes}]
        ahead = {"type": events.MESSAGE_TYPE, "messages": messages}
        await run(Tournament.objects.filter(pk=tournament.pk).update, revision=snapshot["revision"] + 2)
        await get_channel_layer().group_send(events.group_name(tournament.pk), ahead)
        again = (await said_until(socket, lambda message: message["type"] == "snapshot"))[-1]
        assert again["revision"] == snapshot["revision"] + 2


async def test_a_change_that_no_message_told_is_found_by_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart of the broker, which has forgotten the group."""
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.3)
    tournament = await run(making.tournament)
    async with watching(tournament) as (socket, _):
        layer = get_channel_layer()
        connection = layer.connection(layer.consistent_hash(events.group_name(tournament.pk)))
        await connection.flushdb()
        await run(services.tournament_update, tournament_id=tournament.pk, name="renamed unheard")
        again = (await said_until(socket, lambda message: message["type"] == "snapshot"))[-1]
        assert again["data"]["tournament"]["name"] == "renamed unheard"
        for name in ("unheard too, if the broker forgot between joining and looking", "heard again"):
            await run(services.tournament_update, tournament_id=tournament.pk, name=name)
            heard = (await said_until(socket, lambda message: message["type"] in ("status", "snapshot")))[-1]
            if heard["type"] == "status":
                break
        assert (heard["type"], heard["data"]["name"]) == ("status", name)


async def test_a_deleted_tournament_says_so_and_closes() -> None:
    tournament = await run(making.tournament)
    async with watching(tournament) as (socket, _):
        await run(services.tournament_delete, tournament_id=tournament.pk)
        last = (await said_until(socket, lambda message: message["data"].get("status") == "DELETED"))[-1]
        assert (last["type"], last["data"]["id"]) == ("status", str(tournament.pk))
        assert await socket.close_code(10) == 4404


async def test_a_lost_broker_closes_the_socket_for_another_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.2)
    tournament = await run(making.tournament)
    async with watching(tournament) as (socket, _):
        layer = get_channel_layer()

        async def gone(*args: Any) -> None:
            raise ConnectionError("connection refused")

        monkeypatch.setattr(layer, "group_add", gone)
        assert await socket.close_code(10) == 1013


@pytest.mark.parametrize("named", ["99999999", "0", "abc", "1" * 40])
async def test_an_unknown_tournament_is_closed_as_missing(named: str) -> None:
    headers = await run(lambda: token_headers(making.user()))
    async with opened(named, headers) as socket:
        assert await socket.close_code(10) == 4404


async def test_another_address_is_closed_as_missing() -> None:
    headers = await run(lambda: token_headers(making.user()))
    socket = Socket(application, "/ws/else", headers=headers)
    await socket.connect()
    assert await socket.close_code(10) == 4404
    await socket.disconnect()


async def test_a_stranger_with_an_allowed_origin_is_closed_as_unauthorised() -> None:
    tournament = await run(making.tournament)
    async with opened(tournament.pk, browser_headers(Client())) as socket:
        assert await socket.close_code(10) == 4401


async def test_a_wrong_token_is_closed_as_unauthorised() -> None:
    tournament = await run(making.tournament)
    async with opened(tournament.pk, [(b"host", b"localhost"), (b"authorization", b"Bearer wrong")]) as socket:
        assert await socket.close_code(10) == 4401


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost.evil.example", ""])
async def test_a_foreign_origin_is_refused_even_with_a_cookie(origin: str) -> None:
    tournament = await run(making.tournament)
    client = Client()
    await run(lambda: client.force_login(tournament.owner))
    headers = browser_headers(client, origin)
    socket = Socket(application, f"/ws/tournaments/{tournament.pk}/", headers=headers)
    connected = await socket.connect()
    assert not connected


async def test_a_browser_with_session_and_own_origin_may_watch_until_it_signs_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.2)
    tournament = await run(making.tournament)
    client = Client()
    await run(lambda: client.force_login(tournament.owner))
    async with opened(tournament.pk, browser_headers(client)) as socket:
        assert (await said(socket))["type"] == "snapshot"
        await run(client.logout)
        assert await socket.close_code(10) == 4401


async def test_a_revoked_token_closes_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.2)
    tournament = await run(making.tournament)
    async with watching(tournament) as (socket, _):
        await run(lambda: api_token_revoke(user=tournament.owner, token_id=tournament.owner.api_tokens.get().pk))
        assert await socket.close_code(10) == 4401


async def test_waiting_for_a_message_takes_no_longer_than_the_broker_connection_lives() -> None:
    """Else the socket of every viewer to whom nothing happens would be closed."""
    layer = get_channel_layer()
    pool = layer.connection(0).connection_pool
    assert pool.connection_kwargs["socket_timeout"] > layer.brpop_timeout


async def test_two_viewers_each_count_their_own_messages() -> None:
    tournament = await run(making.tournament)
    async with watching(tournament) as (first, _):
        await run(events.publish, tournament.pk, "status")
        assert (await said(first))["seq"] == 1
        async with watching(tournament) as (second, _):
            await run(events.publish, tournament.pk, "status")
            assert (await said(first))["seq"] == 2
            assert (await said(second))["seq"] == 1


async def test_a_retry_is_seen_with_its_raised_attempt() -> None:
    tournament = await run(making.tournament, pool={"size": 1})
    claimed = await run(making.claim)
    async with watching(tournament) as (socket, _):
        await run(making.finish, claimed, making.failure("killed", retryable=True))
        await run(orchestrator.pod_claim, worker="other", slot=0, device_kind="cpu")
        heard = await said_until(socket, lambda message: message["type"] == "pod" and message["data"]["attempt"] == 2)
        assert heard[-1]["data"]["worker"] == "other"
