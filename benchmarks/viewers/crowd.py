"""Many viewers in one process, each with a WebSocket and a store of its own, signed in as a browser is.

Started by benchmarks.viewers, which talks to it in lines of JSON: what to do on stdin, what was found on stdout.
"""

import asyncio
import http.client
import json
import random
import socket
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvloop
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Origin, Subprotocol

from benchmarks.viewers.comparison import differences
from benchmarks.viewers.frames import Frames
from benchmarks.viewers.store import Store

TOGETHER = "podracer.together"
FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
"""As static/js/socket.js has it."""

SMALL_BUFFER = 64 * 1024
"""Of the one who stalls, so that the server notices within the minute."""

LONGEST_MS = 60_000


def session_cookie(link: str) -> str:
    """Of who signs in by the link."""
    parts = urlsplit(link)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request("GET", parts.path)
    answer = connection.getresponse()
    cookies = [value.partition(";")[0] for name, value in answer.getheaders() if name.lower() == "set-cookie"]
    connection.close()
    return next(cookie for cookie in cookies if cookie.startswith("sessionid="))


class Record:
    """What the viewers have taken while it was measured. delays: how many points took so many milliseconds"""

    def __init__(self) -> None:
        self.delays = [0] * (LONGEST_MS + 1)
        self.frames = self.messages = self.letters = self.wire = self.snapshots = 0
        self.began = time.time()

    def points(self, data: dict[str, Any]) -> None:
        """Each left its pod as much before the newest as their seconds of training differ."""
        since_newest = round(1000 * (time.time() - data["sent_at"]))
        for age in data["ages"]:
            self.delays[min(LONGEST_MS, max(0, since_newest + age))] += 1

    def report(self) -> dict[str, Any]:
        names = ("frames", "messages", "letters", "wire", "snapshots")
        return {**{name: getattr(self, name) for name in names}, "delays": self.delays, "began": self.began}


class Viewer:
    """One page without a screen."""

    def __init__(self, url: str, path: str, cookie: str, frames: Frames, small: bool) -> None:
        self._url, self._path, self._cookie, self._small = url, path, cookie, small
        self._frames = frames
        self.record = Record()
        self.going = asyncio.Event()
        self.going.set()
        self.counted = True
        self.ready = asyncio.Event()
        self.store = Store()
        self.revision = -1
        self.codes: list[int] = []

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                async with await self._connect() as connection:
                    lost = await self._read(connection)
                    failures = 0
                    if lost:
                        continue
            except ConnectionClosed as closed:
                self.codes.append(closed.rcvd.code if closed.rcvd else 1006)
                failures = 1
            except (OSError, InvalidHandshake, TimeoutError):
                failures += 1
            await asyncio.sleep(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1)) * random.uniform(0.5, 1))

    async def _connect(self) -> connect:
        parts, viewer = urlsplit(self._url), self

        class Counting(ClientConnection):
            def data_received(self, data: bytes) -> None:
                viewer.record.wire += len(data) if viewer.counted else 0
                super().data_received(data)

        sock = socket.socket()
        if self._small:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (parts.hostname, parts.port))
        return connect(
            f"ws://{parts.netloc}{self._path}",
            sock=sock,
            origin=Origin(self._url),
            additional_headers={"Cookie": self._cookie},
            subprotocols=[Subprotocol(TOGETHER)],
            max_size=None,
            open_timeout=60,
            ping_interval=None,  # browsers send none
            create_connection=Counting,
        )

    async def _read(self, connection: ClientConnection) -> bool:
        """Until the connection ends, which raises ConnectionClosed, or a message is missing: True."""
        seq = None
        while True:
            await self.going.wait()
            text = await connection.recv(decode=True)
            self._count(text)
            for number, message in self._frames.read(text):
                if seq is not None and number != seq + 1:
                    return True
                seq, self.revision = number, message["revision"]
                self.store.take(message["type"], message["data"])
                self._taken(message)
            self.store.settle()

    def _count(self, text: str) -> None:
        if self.counted:
            self.record.frames += 1
            self.record.letters += len(text)

    def _taken(self, message: dict[str, Any]) -> None:
        if message["type"] == "snapshot":
            self.ready.set()
        if self.counted:
            self.record.messages += 1
            self.record.snapshots += message["type"] == "snapshot"
            if message["type"] == "curve":
                self.record.points(message["data"])

    async def stall(self, seconds: float) -> None:
        """Read nothing, as a laptop that sleeps."""
        self.counted = False
        self.going.clear()
        await asyncio.sleep(seconds)
        self.going.set()

    def state(self) -> dict[str, Any]:
        store = self.store
        return {
            "tournament": store.tournament,
            "leaderboard": store.leaderboard,
            "pods": [*store.pods.values()],
            "events": store.events,
            "curves": store.curves,
        }


class Crowd:
    """All viewers, and the orders that come."""

    def __init__(self, url: str, path: str, cookies: list[str]) -> None:
        frames = Frames()
        self.viewers = [Viewer(url, path, cookie, frames, small=i == 0) for i, cookie in enumerate(cookies)]
        self.tasks = [asyncio.create_task(viewer.run()) for viewer in self.viewers]

    async def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        match order["order"]:
            case "watch":
                await asyncio.wait_for(asyncio.gather(*(viewer.ready.wait() for viewer in self.viewers)), 240)
            case "measure":
                self._record()
                if order["stall"]:
                    self.tasks.append(asyncio.create_task(self.viewers[0].stall(order["stall"])))
            case "report":
                report = self.viewers[-1].record.report()
                self._record()
                return report
            case "compare":
                return await self._compare(order)
        return {}

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def _record(self) -> None:
        record = Record()
        for viewer in self.viewers:
            viewer.record = record

    async def _compare(self, order: dict[str, Any]) -> dict[str, Any]:
        """Once they have all heard of `revision`, or `seconds` are over."""
        deadline = time.monotonic() + order["seconds"]
        while time.monotonic() < deadline and any(one.revision < order["revision"] for one in self.viewers):
            await asyncio.sleep(0.1)
        expected = json.loads(Path(order["expected"]).read_text())
        again = {index: viewer.codes for index, viewer in enumerate(self.viewers) if viewer.codes}
        wrong = {}
        for index, viewer in enumerate(self.viewers):
            sentences = differences(expected, viewer.state())
            if sentences:
                wrong[index] = sentences
            await asyncio.sleep(0)  # pings are answered meanwhile
        return {"wrong": wrong, "again": again}


async def main() -> None:
    begin = json.loads(sys.stdin.readline())
    crowd = Crowd(begin["url"], begin["path"], begin["cookies"])
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await crowd.obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
