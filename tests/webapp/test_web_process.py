"""The web process stays light: no torch, whatever it is asked for, and little memory."""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from tests.stack import REPOSITORY, free_port, wait_for
from tests.webapp.tournaments import making
from webapp.accounts.services import owner_ensure

MAX_MIB = 200


@pytest.fixture
def web(service_environment: dict[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    """uvicorn as the supervisor starts it, on the test's database."""
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
    process.communicate(timeout=20)


def test_torch_is_not_loaded_and_memory_stays_small(web: tuple[str, psutil.Process]) -> None:
    url, process = web
    token_file = Path(settings.PODRACER_HOME) / "owner-token"
    owner = owner_ensure(token_file)
    tournament = making.tournament(owner=owner)
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
    token = token_file.read_text().strip()
    for _ in range(5):
        for page in pages:
            request = urllib.request.Request(url + page, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert answer.status == 200, page
                answer.read()
    loaded = Path(f"/proc/{process.pid}/maps").read_text()
    assert "libtorch" not in loaded
    assert "onnx" not in loaded
    used = process.memory_info().rss / 2**20
    print(f"web process: {used:.0f} MiB")
    assert used <= MAX_MIB
