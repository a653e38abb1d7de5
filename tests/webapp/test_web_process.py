"""The web process stays light: no torch, whatever it is asked for, and little memory, whatever it sends."""

import http.client
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from django.conf import settings
from django.core.files.storage import default_storage

from tests.stack import REPOSITORY, free_port, wait_for
from tests.webapp.tournaments import making
from webapp.accounts.models import SignInFailure
from webapp.accounts.services import owner_ensure
from webapp.tournaments.models import Agent

MAX_MIB = 200
LARGE = 200 * 2**20


PROXY, OTHER = "127.0.0.2", "127.0.0.3"
"""Addresses of this machine; one is trusted."""


@pytest.fixture
def web(service_environment: dict[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    """uvicorn as the supervisor starts it, on the test's database."""
    service_environment = {**service_environment, "FORWARDED_ALLOW_IPS": PROXY}
    port = free_port()
    address = ["--host", "127.0.0.1", "--port", str(port)]
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", *address, "--lifespan", "off"]
    process = subprocess.Popen(command, cwd=REPOSITORY, env=service_environment, stderr=subprocess.PIPE)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    wait_for(answers, 30, "the web process answering")
    yield url, psutil.Process(process.pid)
    process.terminate()
    _, said = process.communicate(timeout=20)
    assert "Warning" not in said.decode()


@pytest.fixture
def token(transactional_db: None) -> str:
    """The owner's."""
    token_file = Path(settings.PODRACER_HOME) / "owner-token"
    owner_ensure(token_file)
    return token_file.read_text().strip()


def asked(url: str, token: str, method: str = "GET") -> Any:
    request = urllib.request.Request(url, method=method, headers={"Authorization": f"Bearer {token}"})
    return urllib.request.urlopen(request, timeout=20)


def test_torch_is_not_loaded_and_memory_stays_small(web: tuple[str, psutil.Process], token: str) -> None:
    url, process = web
    tournament = making.tournament()
    claimed = making.claim()
    making.finish(claimed)
    pages = [
        "/",
        "/tournaments/new/",
        f"/tournaments/{tournament.pk}/",
        f"/agents/{claimed.agent_id}/",
        f"/agents/{claimed.agent_id}/exports/onnx/",
        f"/api/agents/{claimed.agent_id}/replays",
        "/api/openapi.json",
        "/api/environments",
        f"/api/tournaments/{tournament.pk}",
        f"/api/tournaments/{tournament.pk}/leaderboard",
        f"/api/agents/{claimed.agent_id}/curve",
        "/metrics",
    ]
    for _ in range(5):
        for page in pages:
            with asked(url + page, token) as answer:
                assert answer.status == 200, page
                answer.read()
    loaded = Path(f"/proc/{process.pid}/maps").read_text()
    assert "libtorch" not in loaded
    assert "onnx" not in loaded
    used = process.memory_info().rss / 2**20
    print(f"web process: {used:.0f} MiB")
    assert used <= MAX_MIB


def test_a_large_file_is_sent_in_pieces_and_so_is_every_other(web: tuple[str, psutil.Process], token: str) -> None:
    url, process = web
    tournament = making.board(1.0, 2.0)
    agent = Agent.objects.exclude(checkpoint_file="")[0]
    with default_storage.open(agent.checkpoint_file, "r+b") as file:
        file.truncate(LARGE)
    Agent.objects.filter(pk=agent.pk).update(checkpoint_size=LARGE)
    for path in (
        "/static/podracer.css",
        "/static/vendor/plotly.min.js",
        f"/api/tournaments/{tournament.pk}/export",
        f"/api/tournaments/{tournament.pk}/export?format=tensorboard",
        f"/api/tournaments/{tournament.pk}/curves?format=csv",
        "/audit.csv",
    ):
        with asked(url + path, token) as answer:
            assert len(answer.read()) == int(answer.headers["Content-Length"]) > 0, path
    with asked(f"{url}/static/podracer.css", token, "HEAD") as answer:
        assert answer.read() == b""
    before = most = process.memory_info().rss
    with asked(f"{url}/api/agents/{agent.pk}/checkpoint", token) as answer:
        received = 0
        while piece := answer.read(2**22):
            received += len(piece)
            most = max(most, process.memory_info().rss)
    assert received == LARGE
    assert (most - before) / 2**20 < 20


def test_the_address_that_a_trusted_proxy_forwards_counts_and_no_other_s(
    web: tuple[str, psutil.Process], transactional_db: None
) -> None:
    url, _ = web
    for number, source in enumerate((PROXY, OTHER)):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20, source_address=(source, 0))
        connection.request("GET", f"/sign-in/link/guess-{number}/", headers={"X-Forwarded-For": f"203.0.113.{number}"})
        assert connection.getresponse().status == 403
        connection.close()
    keys = set(SignInFailure.objects.filter(key__startswith="address").values_list("key", flat=True))
    assert keys == {"address 203.0.113.0", f"address {OTHER}"}
