"""What lists of tournaments and agents cost the server when they are long: milliseconds and queries.

    python -m benchmarks.lists --tournaments 1000 --agents 10000 --limit 300

Rows are written straight into the database of a running Podracer: at first 100 tournaments, one of which has 100
agents, then the others and a large one. Milliseconds are those from the request to the last byte of the answer, one
request after another. Queries are counted while this process answers the same requests from the same database, at both
sizes. Beside them stands the CPU time of a request, of the web process and its PostgreSQL together, which another
program on the machine hardly changes. Exits 1 where a median is above `--limit` or the number of queries follows the
number of rows.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from websockets.sync.client import connect

from benchmarks.viewers.machine import service_pids
from tests.stack import Stack

FEW, FEW_AGENTS = 100, 100
SMALL_SIZE = 20
"""Agents of each tournament but the largest."""

BOARD = 1000
"""The longest leaderboard that there may be."""

POINTS = 20

SNAPSHOT = "tournament: first message of its socket"
ADDRESSES = {
    "list: page": "/",
    "list: last page": "/?offset={last}",
    "list: archived": "/?archived=1",
    "list: by best score": "/?sort=score",
    "list: by env steps": "/?sort=env_steps",
    "list: searched": "/?search=1&status=FINISHED&env_id=CartPole-v1",
    "list: cards alone": "/tournaments/cards/?offset=24",
    "list: API": "/api/tournaments",
    "list: API, all at once": "/api/tournaments?limit=1000",
    "list: API, last page": "/api/tournaments?offset={last}",
    "list: API, current": "/api/tournaments?archived=false",
    "tournament: page": "/tournaments/{id}/",
    SNAPSHOT: "/ws/tournaments/{id}/",
    "tournament: API": "/api/tournaments/{id}",
    "leaderboard: API": "/api/tournaments/{id}/leaderboard",
    "leaderboard: API, all at once": "/api/tournaments/{id}/leaderboard?limit=1000",
    "pods: API, first 1,000": "/api/tournaments/{id}/pods?limit=1000",
    "pods: API, last page": "/api/tournaments/{id}/pods?offset={last_agent}",
    "events: API": "/api/tournaments/{id}/events",
    "agent: page": "/agents/{agent}/",
    "agent: API": "/api/agents/{agent}",
    "storage: page": "/storage/",
    "compare: page": "/compare/?t={id}&t={other}",
    "compare: API": "/api/compare?t={id}&t={other}",
}
OF_MEMBER = ("list: page", "list: API", "list: API, all at once", "compare: page")
"""Measured also as somebody who is no admin: what they may see is then part of the query."""

TIMES = 7

Asked = dict[str, tuple[str, str]]
"""By what is measured: whose token asks for it, and its address."""


def main() -> int:
    options = _parse()
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder) / "home") as stack:
        _set_up_django(stack)
        member, token = member_create()
        _, before = _measured(member, [FEW_AGENTS, *[SMALL_SIZE] * (FEW - 1)], stack.token, token)
        rest = [options.agents, *[SMALL_SIZE] * (options.tournaments - FEW - 1)]
        many, after = _measured(member, rest, stack.token, token)
        server = _Server(stack)
        costs = {name: server.cost(partial(_get, stack, *one), options.times) for name, one in many.items()}
    return _print(before, after, costs, options.limit)


def _measured(member: Any, sizes: list[int], *tokens: str) -> tuple[Asked, dict[str, int]]:
    """What is asked for once so many rows more are there, and how many queries it takes."""
    from benchmarks.many_rows import analyse

    print(f"writing {len(sizes):,} tournaments, the first of {sizes[0]:,} agents", flush=True)
    asked = asked_of(fill(member, sizes), *tokens)
    analyse()
    return asked, queries(asked)


def _set_up_django(stack: Stack) -> None:
    import django

    os.environ.update(stack.environment, DJANGO_SETTINGS_MODULE="webapp.settings")
    django.setup()


def member_create() -> tuple[Any, str]:
    """A runner, whose tournaments they will be, and their token."""
    from django.contrib.auth.models import User

    from webapp.accounts.models import Profile, Role
    from webapp.accounts.services import api_token_create

    member = User.objects.create_user("member")
    Profile.objects.update_or_create(user=member, defaults={"role": Role.RUNNER})
    return member, api_token_create(user=member, name="measuring")[1]


def fill(owner: Any, sizes: list[int]) -> dict[str, int]:
    """Write tournaments of so many agents; what of them stands in ADDRESSES."""
    from benchmarks.many_rows import tournaments_write
    from webapp.tournaments.models import Agent, Tournament

    identities = tournaments_write(owner, sizes, board=BOARD, points=POINTS)
    return {
        "id": identities[0],
        "other": identities[1],
        "agent": Agent.objects.filter(tournament=identities[0]).order_by("-depth").values_list("pk", flat=True)[0],
        "last": max(0, Tournament.objects.filter(archived=False).count() - 24),
        "last_agent": max(0, sizes[0] - 100),
    }


def asked_of(values: Mapping[str, int], admin: str, member: str) -> Asked:
    found = {name: (admin, address.format(**values)) for name, address in ADDRESSES.items()}
    return found | {f"{name}, as a member": (member, found[name][1]) for name in OF_MEMBER}


# Queries


def _answered(client: Any, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)


def queries(asked: Asked) -> dict[str, int]:
    """How many each address takes, answered by this process."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from webapp.tournaments import selectors

    found = {}
    for name, (token, address) in asked.items():
        if name == SNAPSHOT:
            ask: Callable[[], Any] = partial(selectors.snapshot, int(address.split("/")[-2]))
        else:
            client = Client(headers={"authorization": f"Bearer {token}"}, SERVER_NAME="127.0.0.1")
            ask = partial(_answered, client, address)
        ask()  # what is looked up once in a process is not of the request
        with CaptureQueriesContext(connection) as captured:
            ask()
        found[name] = len(captured)
    return found


# Milliseconds


@dataclass(frozen=True)
class Cost:
    """Milliseconds: of each request by the wall clock, and of CPU time on average."""

    wall: list[float]
    cpu: float


class _Server:
    """The web process of a stack, and its PostgreSQL."""

    def __init__(self, stack: Stack) -> None:
        assert stack.process is not None
        self._web = stack.processes("uvicorn")[0]
        self._postgres = psutil.Process(service_pids(stack.home)["postgres"])

    def cost(self, ask: Callable[[], Any], times: int) -> Cost:
        """Of so many requests, after one that is not counted."""
        ask()
        wall, busy = [], self._busy()
        for _ in range(times):
            began = time.perf_counter()
            ask()
            wall.append((time.perf_counter() - began) * 1000)
        return Cost(wall, (self._busy() - busy) / times)

    def _busy(self) -> float:
        """Milliseconds so far. A connection ends with its request, and PostgreSQL's first process counts what ended."""
        web, postgres = self._web.cpu_times(), self._postgres.cpu_times()
        return 1000 * (web.user + web.system + postgres.children_user + postgres.children_system)


def _get(stack: Stack, token: str, address: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    if address.startswith("/ws/"):
        with connect(
            f"ws{stack.url.removeprefix('http')}{address}", additional_headers=headers, max_size=None
        ) as socket:
            socket.recv()
        return
    request = urllib.request.Request(stack.url + address, headers=headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        answer.read()


def _print(before: dict[str, int], after: dict[str, int], costs: dict[str, Cost], limit: float) -> int:
    print(f"\n{'':42} {'median':>8} {'worst':>8} {'CPU':>8}   queries")
    missed = False
    for name, cost in costs.items():
        median, same = statistics.median(cost.wall), before[name] == after[name]
        held = same and median <= limit
        missed |= not held
        queries = f"{after[name]}" if same else f"{before[name]} -> {after[name]}"
        figures = " ".join(f"{value:5.0f} ms" for value in (median, max(cost.wall), cost.cpu))
        print(f"{name:42} {figures}   {queries:10} {'' if held else 'missed'}")
    print(f"\n{'missed' if missed else 'held'}: {limit:.0f} ms, as many queries for many rows as for few")
    return int(missed)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tournaments", type=int, default=1000)
    parser.add_argument("--agents", type=int, default=10_000, help="of the largest")
    parser.add_argument("--times", type=int, default=TIMES, help="that each is asked")
    parser.add_argument("--limit", type=float, default=300.0, help="milliseconds, the median")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
