"""What takes space: told by tournament and kind, to whom may see it, and warned of before the disk is full."""

import shutil
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp import people
from tests.webapp.tournaments import making
from webapp.accounts.models import Role
from webapp.tournaments import orchestrator
from webapp.tournaments.artefacts import artefacts
from webapp.tournaments.artefacts.artefacts import MadeFile
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.keeping import disk
from webapp.tournaments.keeping import selectors as storage_selectors
from webapp.tournaments.models import Tournament

pytestmark = pytest.mark.django_db

GB = 10**9


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    """What was measured in another test."""
    yield
    disk._measured.cache_clear()
    storage_selectors._totals.cache_clear()


def used(name: str, checkpoint: int, state: int, saved: int = 0) -> Tournament:
    """A tournament with one agent whose files are of these sizes, and a running pod that saved `saved` bytes."""
    tournament = making.tournament(name=name, pool={"size": 1})
    files = StoredFiles(f"{name}-c", "ab", checkpoint, f"{name}-s", state)
    making.finish(making.claim(), files=files)
    if saved:
        running = making.claim()
        orchestrator.pod_saved(
            pod_id=running.pod_id, attempt=running.attempt, state_file="s", state_size=saved, env_steps=10, seconds=1.0
        )
    else:
        Tournament.objects.filter(pk=tournament.pk).update(status="FINISHED", running_since=None)
    return tournament


def made(tournament: Tournament, kind: str, name: str, size: int) -> None:
    agent = tournament.agents.exclude(checkpoint_file="").get()
    artefacts.artefact_request(agent_id=agent.pk, kind=kind, name=name)
    claim = artefacts.artefact_claim(worker="w")
    assert claim is not None
    artefacts.artefact_finish(claim=claim, made=MadeFile(name, "ab", size), details={})


def test_each_tournament_is_told_by_kind_the_largest_first() -> None:
    small, large = used("small", 10, 20), used("large", 1000, 2000, saved=500)
    made(small, "export", "onnx", 3)
    made(small, "replay", "best", 4)
    found = storage_selectors.usage(Q())
    assert [(item["id"], item["size"]) for item in found["items"]] == [(str(large.pk), 3500), (str(small.pk), 37)]
    assert found["items"][0]["sizes"] == {"checkpoints": 1000, "states": 2500, "exports": 0, "replays": 0}
    assert found["items"][1]["sizes"] == {"checkpoints": 10, "states": 20, "exports": 3, "replays": 4}
    assert (found["size"], found["most"], found["others"]["count"]) == (3537, 3500, 0)


def test_the_page_takes_as_many_queries_however_many_there_are() -> None:
    client = people.browser_of(people.person())
    used("a", 10, 20)
    with CaptureQueriesContext(connection) as few:
        client.get("/storage/")
    for name in "bcd":
        used(name, 10, 20)
    with CaptureQueriesContext(connection) as many:
        page = client.get("/storage/").content.decode()
    assert len(many) == len(few)
    assert page.count("<li>") == 4


def test_who_is_no_admin_is_told_of_what_they_see_and_of_no_disk() -> None:
    tournament = used("secret", 5 * GB, 0)
    client = people.browser_of(people.person("vera", Role.VIEWER))
    page = client.get("/storage/").content.decode()
    assert "secret" not in page
    assert "Nothing is stored yet" in page
    assert "Disk of the storage" not in page
    Tournament.objects.filter(pk=tournament.pk).update(shared=True)
    assert "5.0\N{NO-BREAK SPACE}GB" in client.get("/storage/").content.decode()


@pytest.mark.parametrize(
    ("total", "free", "warned"),
    [(1000 * GB, 200 * GB, False), (1000 * GB, 90 * GB, True), (15 * GB, 2 * GB, True), (15 * GB, 3 * GB, False)],
)
def test_admins_are_warned_on_every_page_when_little_is_free(
    monkeypatch: pytest.MonkeyPatch, total: int, free: int, warned: bool
) -> None:
    disk._measured.cache_clear()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=total, free=free))
    admin = people.browser_of(people.person("root", Role.ADMIN))
    assert ("disk is nearly full" in admin.get("/").content.decode()) is warned
    viewer = people.browser_of(people.person("vera", Role.VIEWER))
    assert "disk is nearly full" not in viewer.get("/").content.decode()


def test_a_page_looks_at_the_disk_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    disk._measured.cache_clear()
    asked: list[object] = []

    def disk_usage(folder: object) -> SimpleNamespace:
        asked.append(folder)
        return SimpleNamespace(total=100 * GB, free=50 * GB)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    monkeypatch.setattr("time.monotonic", lambda: 30.0)
    assert [disk.disk_lately() for _ in range(3)] == [disk.Disk(100 * GB, 50 * GB)] * 3
    assert len(asked) == 1


def test_the_metrics_have_used_and_free_bytes(api: Client) -> None:
    storage_selectors._totals.cache_clear()
    used("a", 10, 20)
    text = api.get("/metrics").content.decode()
    assert 'podracer_storage_used_bytes{kind="checkpoints"} 10.0' in text
    assert 'podracer_storage_used_bytes{kind="states"} 20.0' in text
    assert "\npodracer_storage_free_bytes " in text
    assert "\npodracer_storage_size_bytes " in text
