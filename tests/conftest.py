"""What all tests share: the environment for programs that work beside the test, and the browser."""

import os

import pytest
from django.conf import settings
from django.db import connection


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
