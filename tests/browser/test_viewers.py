"""Viewers of a whole Podracer over real sockets: benchmarks.viewers, small, and one who reads nothing for a while."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from benchmarks.viewers.comparison import differences, state_in_database
from benchmarks.viewers.crowd import TOGETHER, Crowd, session_cookie
from benchmarks.viewers.store import Store
from tests.browser.conftest import sign_in_link
from tests.stack import REPOSITORY, Stack

pytestmark = pytest.mark.timeout(180)

SPEC: dict[str, Any] = {"env_id": "CartPole-v1", "round": {"env_steps": 20_000}, "stop": {"pods": 4}}

ROUNDS = 14
"""Of 0.6 MB each: what the kernel keeps for a socket that nobody reads (4 MB), and more than may wait in the server."""


async def test_all_end_with_the_database_s_state(stack: Stack, tmp_path: Path) -> None:
    cookie = session_cookie(await asyncio.to_thread(sign_in_link, stack))
    identity = await asyncio.to_thread(lambda: stack.tournament_start(**SPEC))
    crowd = Crowd(stack.url, f"/ws/tournaments/{identity}/", [cookie] * 6)
    try:
        await crowd.obey({"order": "watch"})
        await crowd.obey({"order": "measure", "stall": 0})
        await asyncio.to_thread(stack.wait_for_status, identity, "FINISHED")
        expected = await asyncio.to_thread(state_in_database, stack, identity)
        path = tmp_path / "expected.json"
        path.write_text(json.dumps(expected))
        revision = expected["tournament"]["revision"]
        found = await crowd.obey({"order": "compare", "expected": str(path), "revision": revision, "seconds": 20})
        assert found["wrong"] == {}
        heard = await crowd.obey({"order": "report"})
        assert sum(heard["delays"]) > 0
    finally:
        await crowd.close()


class Page:
    """Takes frames when it is told to, and hardly any wait for it on its side."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.store = Store()
        self.revision = -1
        self.snapshots = 0

    async def read_to(self, revision: int) -> None:
        async with asyncio.timeout(30):
            while self.revision < revision:
                for message in json.loads(await self._connection.recv()):
                    self.revision = message["revision"]
                    self.snapshots += message["type"] == "snapshot"
                    self.store.apply(message["type"], message["data"])

    @property
    def state(self) -> dict[str, Any]:
        return {**vars(self.store), "pods": [*self.store.pods.values()]}


@asynccontextmanager
async def opened(stack: Stack, identity: str) -> AsyncIterator[Page]:
    address = urlsplit(stack.url)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect((address.hostname, address.port))
    sock.setblocking(False)
    async with connect(
        f"ws://{address.netloc}/ws/tournaments/{identity}/",
        sock=sock,
        additional_headers={"Authorization": f"Bearer {stack.token}"},
        subprotocols=[Subprotocol(TOGETHER)],
        max_size=None,
        max_queue=1,
        ping_interval=None,
    ) as connection:
        page = Page(connection)
        await page.read_to(0)
        yield page


async def test_one_who_reads_nothing_is_left_behind_and_then_given_the_database_s_state(stack: Stack) -> None:
    rounds = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.browser.rounds"),
        cwd=REPOSITORY,
        env=stack.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert rounds.stdin
    assert rounds.stdout
    try:
        identity = (await rounds.stdout.readline()).decode().strip()
        async with opened(stack, identity) as stalled, opened(stack, identity) as other:
            for _ in range(ROUNDS):
                rounds.stdin.write(b"\n")
                await other.read_to(int(await rounds.stdout.readline()))
            changed = await asyncio.to_thread(stack.api, "PATCH", f"/tournaments/{identity}", {"name": "renamed"})
            expected = await asyncio.to_thread(state_in_database, stack, identity)
            for page, snapshots in ((other, 1), (stalled, 2)):
                await page.read_to(changed["revision"])
                assert page.snapshots == snapshots
                assert differences(expected, page.state) == []
    finally:
        rounds.stdin.close()
        await rounds.wait()
