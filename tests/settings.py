"""webapp.settings over a home of its own, with a real PostgreSQL and a real Valkey in it.

pytest-django reads the settings before it reads any conftest.py, so the services are started here. Programs
that tests start inherit the URLs and start none; the workers of pytest-xdist share them.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from webapp.embedded.postgres import EmbeddedPostgres
from webapp.embedded.registry import services_plan
from webapp.embedded.valkey import EmbeddedValkey


def _services_start() -> None:
    """Set the variables that webapp.settings reads; undone when pytest ends, however it ends."""
    home = Path(tempfile.mkdtemp(prefix="podracer-tests-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ.update(PODRACER_HOME=str(home), PODRACER_TESTS_HOME=str(home))
    os.environ.pop("STORAGE_URL", None)
    services = services_plan(home)
    if not os.environ.get("DATABASE_URL"):
        postgres = EmbeddedPostgres(home, services, durable=False)
        os.environ["DATABASE_URL"] = postgres.start()
        atexit.register(postgres.stop)
    if not os.environ.get("REDIS_URL"):
        valkey = EmbeddedValkey(home, services)
        os.environ["REDIS_URL"] = valkey.start()
        atexit.register(valkey.stop)


def _services_share(home: Path) -> None:
    """A folder of `home` and a database of Valkey for one worker; for PostgreSQL, pytest-django sees to that."""
    home.mkdir()
    number = 1 + int(home.name.removeprefix("gw"))
    url = urlsplit(os.environ["REDIS_URL"])._replace(path=f"/{number}").geturl()
    os.environ.update(PODRACER_HOME=str(home), PODRACER_TESTS_HOME=str(home), REDIS_URL=url)


# Set in programs that a test starts, and to `none` by `make test-core`, which needs no services.
_home, _worker = os.environ.get("PODRACER_TESTS_HOME"), os.environ.get("PYTEST_XDIST_WORKER")
if _home is None:
    _services_start()
elif _worker and _home != "none" and Path(_home).name != _worker:
    _services_share(Path(_home) / _worker)

from webapp.settings import *  # noqa: E402, F403 - settings are their module's names

# No collectstatic before tests, and the cheapest hash for the passwords that they make.
STORAGES = STORAGES | {  # noqa: F405
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
