"""A slot with a real pod process, on the tests' own database and storage."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from podracer_core.spec_parse import spec_parse
from tests.webapp import people
from webapp.tournaments import services
from webapp.tournaments.models import Tournament
from workers.machine import Machine
from workers.reporter import Reporter
from workers.slot import Slot


@pytest.fixture(scope="package")
def warm_slot() -> Iterator[Slot]:
    """One slot for all tests: its process stays warm between them, as it does between pods."""
    machine = Machine(name="test-worker", device_kind="cpu", slots=1, threads=1)
    slot = Slot(machine, 0, threading.Event(), Reporter())
    slot.warm()
    yield slot
    slot.close()


@pytest.fixture
def slot(
    warm_slot: Slot, transactional_db: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Slot:
    settings.PODRACER_HOME = tmp_path
    settings.STORAGES = {**settings.STORAGES, "default": _folder(tmp_path / "storage")}
    warm_slot.stopping.clear()
    warm_slot.leaving.clear()
    return warm_slot


def _folder(path: Path) -> dict[str, Any]:
    return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": path}}


@pytest.fixture
def start(transactional_db: None) -> Callable[..., Tournament]:
    """Starts a tournament of one pod at a time."""
    owner = people.person()

    def started(**spec: Any) -> Tournament:
        data = {"env_id": "CartPole-v1", "pool": {"size": 1}, "stop": {"pods": 1}, **spec}
        return services.tournament_create(owner=owner, spec=spec_parse(data), start=True)

    return started


@pytest.fixture
def working(slot: Slot) -> Iterator[Callable[[], threading.Thread]]:
    """Has the slot work in a thread, as the worker's pool does; the test joins it."""
    threads: list[threading.Thread] = []

    def work() -> None:
        try:
            slot.work()
        finally:
            connections.close_all()

    def begin() -> threading.Thread:
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return threads[-1]

    yield begin
    slot.stopping.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "the slot still works"
