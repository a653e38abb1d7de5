"""What all viewers of a tournament share, and what each has for itself. (What they are told: test_consumers.)"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.layers import get_channel_layer

from benchmarks.viewers.comparison import differences
from benchmarks.viewers.store import Store
from podracer_core.progress import Outcome, PodResult
from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_consumers import opened, run, said, token_headers, told
from webapp.asgi import application
from webapp.tournaments import events, orchestrator, selectors, services
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.live import feed, outbox
from webapp.tournaments.live.consumers import TOGETHER
from webapp.tournaments.models import Tournament

pytestmark = pytest.mark.django_db(transaction=True)


class Page:
    """A viewer with the page's store, that reads when it is told to; only so much fits into its pipe."""

    def __init__(self, tournament: Tournament, headers: list[tuple[bytes, bytes]]) -> None:
        self.store = Store()
        self.seq = -1
        self.snapshots = 0
        self.frames: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._said.put_nowait({"type": "websocket.connect"})
        path = f"/ws/tournaments/{tournament.pk}/"
        scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "subprotocols": [TOGETHER]}
        self._task = asyncio.create_task(application(scope, self._said.get, self._take))

    async def _take(self, message: dict[str, Any]) -> None:
        """Waits, as a server does whose client reads nothing."""
        if message["type"] == "websocket.accept":
            assert message["subprotocol"] == TOGETHER
        else:
            await self.frames.put(message["text"])

    async def read(self) -> None:
        """Take one frame."""
        for message in json.loads(await asyncio.wait_for(self.frames.get(), 10)):
            assert message["seq"] == self.seq + 1
            self.seq = message["seq"]
            self.snapshots += message["type"] == "snapshot"
            self.store.apply(message["type"], message["data"])

    async def read_until(self, tournament: Tournament) -> None:
        """Take frames until nothing differs from the database."""
        async with asyncio.timeout(10):
            while await run(self.differences, tournament):
                await self.read()

    def differences(self, tournament: Tournament) -> list[str]:
        if self.seq < 0:
            return ["nothing was read"]
        return differences(
            {
                "tournament": selectors.tournament_get(tournament.pk),
                "leaderboard": selectors.leaderboard_list(tournament.pk)["items"],
                "pods": selectors.pod_list(tournament.pk)["items"],
                "events": selectors.event_list(tournament.pk)["items"],
                "curves": curve_selectors.tournament_curves(tournament.pk),
                "thinned": False,
            },
            {**vars(self.store), "pods": [*self.store.pods.values()]},
        )

    async def close(self) -> None:
        self._said.put_nowait({"type": "websocket.disconnect", "code": 1005})
        await asyncio.wait_for(self._task, 10)


@asynccontextmanager
async def pages(tournament: Tournament, count: int) -> AsyncIterator[list[Page]]:
    headers = await run(lambda: token_headers(tournament.owner))
    opened_pages = [Page(tournament, headers) for _ in range(count)]
    try:
        for page in opened_pages:
            await page.read()
        yield opened_pages
    finally:
        for page in opened_pages:
            await page.close()


def stop(tournament: Tournament, *claimed: orchestrator.Claim) -> None:
    """After which nothing happens any more."""
    services.tournament_stop(tournament_id=tournament.pk)
    for claim in claimed:
        making.finish(claim, PodResult(Outcome.STOPPED, 1000, 1.0))


async def members(group: str) -> int:
    layer = get_channel_layer()
    connection = layer.connection(layer.consistent_hash(group))
    return int(await connection.zcard(layer._group_key(group)))


async def test_the_broker_brings_each_message_once_however_many_look_on() -> None:
    tournament = await run(making.tournament, start=False)
    async with pages(tournament, 5) as viewers:
        assert await members(events.group_name(tournament.pk)) == 1
        await run(services.tournament_update, tournament_id=tournament.pk, name="renamed")
        for viewer in viewers:
            await viewer.read_until(tournament)
            assert viewer.store.tournament["name"] == "renamed"
    assert await members(events.group_name(tournament.pk)) == 0


async def test_what_changed_is_read_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = feed._changes_read
    monkeypatch.setattr(feed, "_changes_read", lambda *args: reads.append(1) or read(*args))
    tournament = await run(making.tournament, start=False)
    async with pages(tournament, 5) as viewers:
        reads.clear()
        await run(services.tournament_update, tournament_id=tournament.pk, name="renamed")
        for viewer in viewers:
            await viewer.read_until(tournament)
    assert len(reads) == 1


async def test_one_who_reads_nothing_holds_up_nobody_and_ends_with_the_database_s_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING", 20)
    tournament = await run(making.tournament, pool={"size": 2})
    claims = [await run(making.claim, slot=slot) for slot in range(2)]
    async with pages(tournament, 3) as (stalled, *others):
        for step in range(1, 41):
            for claim in claims:
                await run(making.progress, claim, making.point(step))
            if step % 4 == 0:
                for viewer in others:
                    await viewer.read()
        await run(stop, tournament, *claims)
        for viewer in others:
            await viewer.read_until(tournament)
            assert viewer.snapshots == 1
        await stalled.read_until(tournament)
        assert stalled.snapshots == 2


async def test_a_pod_that_goes_back_to_its_saved_state_leaves_the_same_curve_everywhere() -> None:
    tournament = await run(making.tournament, pool={"size": 1})
    claimed = await run(making.claim)
    saved = {"pod_id": claimed.pod_id, "attempt": 1, "state_file": "s", "env_steps": 20, "seconds": 0.02}
    async with pages(tournament, 1) as (viewer,):
        await run(making.progress, claimed, making.point(10), making.point(20), making.point(30), making.point(40))
        await run(orchestrator.pod_saved, **saved)
        await run(making.finish, claimed, making.failure("killed", retryable=True))
        again = await run(making.claim)
        assert again.attempt == 2
        await run(making.progress, again, making.point(35), making.point(50))
        await run(stop, tournament, again)
        await viewer.read_until(tournament)
        assert viewer.store.curves[str(claimed.agent_id)]["env_steps"] == [10, 20, 35, 50]
        assert viewer.snapshots == 1


async def test_of_points_reported_while_somebody_comes_none_is_missing() -> None:
    tournament = await run(making.tournament, pool={"size": 1})
    claimed = await run(making.claim)
    headers = await run(lambda: token_headers(tournament.owner))
    async with opened(tournament.pk, headers) as first:
        await said(first)
        for step in range(1, 30):
            await run(making.progress, claimed, making.point(step))
            if step == 10:
                late = asyncio.create_task(_points(tournament, headers, 29))
        assert await late == list(range(1, 30))


async def _points(tournament: Tournament, headers: list[tuple[bytes, bytes]], last: int) -> list[int]:
    """All that a new viewer hears up to the last. A snapshot may have points that a message after it says again."""
    async with opened(tournament.pk, headers) as socket:
        curves = (await said(socket))["data"]["curves"]
        heard = {step for curve in curves.values() for step in curve["env_steps"]}
        while last not in heard:
            message = await said(socket)
            heard.update(message["data"]["env_steps"] if message["type"] == "curve" else [])
        return sorted(heard)


async def test_the_access_of_many_is_looked_at_a_few_at_a_time_and_of_all_at_once_where_somebody_s_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[list[int]] = []
    look = feed.socket_access.problems

    def counted(tournament_id: int, sockets: Any) -> list[int | None]:
        looks.append([id(scope) for scope, _ in sockets])
        return look(tournament_id, sockets)

    monkeypatch.setattr(feed.socket_access, "problems", counted)
    monkeypatch.setattr(feed, "LOOKS", 2)
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.3)
    tournament = await run(making.tournament, start=False)
    async with pages(tournament, 5):
        looks.clear()
        async with asyncio.timeout(10):
            while len({scope for some in looks for scope in some}) < 5:
                await asyncio.sleep(0.01)
        assert max(map(len, looks)) == 2
        monkeypatch.setattr(feed, "CHECK_INTERVAL", 600.0)
        (watched,) = feed._feeds.values()
        watched._look.set()
        looks.clear()
        async with asyncio.timeout(10):
            while len({scope for some in looks for scope in some}) < 5:
                await asyncio.sleep(0.01)


async def test_who_hears_nothing_for_a_while_is_told_that_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(feed, "QUIET", 0.0)
    tournament = await run(making.tournament, start=False)
    headers = await run(lambda: token_headers(tournament.owner))
    async with opened(tournament.pk, headers) as socket:
        snapshot = await told(socket)
        first, second = await told(socket), await told(socket)
        assert first == {"seq": 1, "revision": snapshot["revision"], "type": "heartbeat", "data": {}}
        assert second == {**first, "seq": 2}
        await run(services.tournament_update, tournament_id=tournament.pk, name="renamed")
        heard = [second]
        while heard[-1]["type"] == "heartbeat":
            heard.append(await told(socket))
        assert [message["seq"] for message in heard] == list(range(2, 2 + len(heard)))
        assert heard[-1]["data"]["name"] == "renamed"


async def test_the_figures_of_a_tournament_that_trains_come_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    tournament = await run(making.tournament, pool={"size": 1}, round={"env_steps": 1000}, stop={"pods": 1})
    claimed = await run(making.claim)
    headers = await run(lambda: token_headers(tournament.owner))
    async with opened(tournament.pk, headers) as socket:
        await said(socket)
        await run(making.progress, claimed, making.point(500))
        assert (await said(socket))["type"] == "curve"
        monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.05)
        (watched,) = feed._feeds.values()
        watched._look.set()
        while (message := await said(socket))["type"] != "status":
            pass
        assert message["data"]["progress"] == 0.5


async def test_soon_after_a_message_no_heartbeat_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    look = feed.socket_access.problems
    monkeypatch.setattr(feed.socket_access, "problems", lambda *args: looks.append(1) or look(*args))
    monkeypatch.setattr(feed, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(feed, "QUIET", 600.0)
    tournament = await run(making.tournament, start=False)
    headers = await run(lambda: token_headers(tournament.owner))
    async with opened(tournament.pk, headers) as socket:
        await told(socket)
        looks.clear()
        async with asyncio.timeout(10):
            while len(looks) < 3:
                await asyncio.sleep(0.01)
        await run(services.tournament_update, tournament_id=tournament.pk, name="renamed")
        assert (await told(socket))["type"] == "status"


@pytest.mark.parametrize("steps", range(12))
async def test_a_feed_ends_whatever_it_has_just_heard(steps: int) -> None:
    """Told to look around and then to end, a few steps of the event loop later."""
    tournament = await run(making.tournament, start=False)
    async with pages(tournament, 1):
        (watched,) = feed._feeds.values()
        watched._look.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        closing = asyncio.create_task(watched.close())
        ended, _ = await asyncio.wait([closing], timeout=5)
        watched._task.cancel()  # again, so that a failure does not last for ever
        assert ended


async def test_many_viewers_make_the_window_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "FRAMES_PER_SECOND", 10)
    tournament = await run(making.tournament)
    async with pages(tournament, 3):
        assert feed._window() == pytest.approx(0.3)
    assert feed._window() == feed.WINDOW
