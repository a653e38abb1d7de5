"""Homes, and the processes that work on them."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from webapp.embedded.postgres import EmbeddedPostgres
from webapp.embedded.registry import Services, services_plan
from webapp.embedded.valkey import EmbeddedValkey


def processes_of(home: Path) -> list[psutil.Process]:
    """Every process that has this home in its command line or its environment, or works in it."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            # Servers write their titles over their environment; those work in a folder of the home.
            words = [*process.cmdline(), *process.environ().values(), process.cwd()]
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if any(str(home) in word for word in words):
            found.append(process)
    return found


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder closed to others, as it is under a home directory."""
    with tempfile.TemporaryDirectory(prefix="podracer-home-") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def services(home: Path) -> Services:
    return services_plan(home)


@pytest.fixture
def postgres(home: Path, services: Services) -> Iterator[EmbeddedPostgres]:
    """Not started; stopped after the test."""
    server = EmbeddedPostgres(home, services, durable=False)
    yield server
    server.stop()


@pytest.fixture
def valkey(home: Path, services: Services) -> Iterator[EmbeddedValkey]:
    """Not started; stopped after the test."""
    server = EmbeddedValkey(home, services)
    yield server
    server.stop()


@pytest.fixture
def running(home: Path) -> Callable[[], list[psutil.Process]]:
    """What runs on the home now."""
    return lambda: processes_of(home)
