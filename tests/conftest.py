"""What all tests share: the environment for programs that work beside the test, and the browser."""

import os
import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection

from tests.stack import Stack

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LONG = ("faults", "browser", "client", "workers")
"""Folders whose files take long."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of several processes none shall be left alone with a long file at the end: those come first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path.parent.name not in LONG)


def chromium_find() -> str | None:
    """The Chromium to drive: PODRACER_CHROMIUM, else the system's."""
    names = [name for name in (os.environ.get("PODRACER_CHROMIUM"), *CHROMIUMS) if name]
    return next((path for name in names if (path := shutil.which(name))), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Browser tests are left out on a machine without Chromium, but never in CI, where that would hide them."""
    if item.get_closest_marker("browser") is None or chromium_find() is not None:
        return
    reason = f"no Chromium here: install one ({', '.join(CHROMIUMS)}) or set PODRACER_CHROMIUM to its path"
    if os.environ.get("CI") or os.environ.get("PODRACER_REQUIRE_BROWSER"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the Chromium that browser tests drive."""
    path = chromium_find()
    assert path is not None, "tests that use this fixture carry the marker browser"
    return path


@pytest.fixture(scope="session")
def shared_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A whole Podracer for all modules whose tests stop what they start: to start one takes seconds."""
    with Stack(tmp_path_factory.mktemp("shared") / "home", PODRACER_SLOTS="2") as running:
        yield running


@pytest.fixture
def service_environment(transactional_db: None) -> dict[str, str]:
    """The environment in which a program started by the test sees the test's database, broker and home.

    Its database is the one that the test writes to, so the test commits what it writes.
    """
    base, _, options = settings.DATABASE_URL.partition("?")
    url = base.rpartition("/")[0] + "/" + str(connection.settings_dict["NAME"])
    return dict(os.environ) | {
        "DATABASE_URL": f"{url}?{options}" if options else url,
        "REDIS_URL": settings.REDIS_URL,
        "PODRACER_HOME": str(settings.PODRACER_HOME),
    }
