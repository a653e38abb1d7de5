"""What an installation needs before it serves: tables, static files, an owner. Does what is missing."""

import hashlib
from pathlib import Path

import redis
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from webapp.accounts import services as accounts
from webapp.embedded.process import ServiceError

# Of Plotly's package data the pages need its bundle alone.
STATIC_IGNORED = ["widgetbundle.js", "datasets", "templates"]


def database_prepare() -> bool:
    """Bring the tables up to date; False if they are."""
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return False
    call_command("migrate", interactive=False, verbosity=0)
    return True


def broker_check() -> None:
    """Raises ServiceError where the broker does not answer."""
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except redis.RedisError as error:
        raise ServiceError(f"REDIS_URL's server does not answer: {error}") from error


def static_prepare() -> bool:
    """Collect, name by content and compress the static files; False if nothing changed since last time."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    fingerprint = _static_fingerprint()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return False
    call_command("collectstatic", interactive=False, clear=True, verbosity=0, ignore_patterns=STATIC_IGNORED)
    stamp.write_text(fingerprint)
    return True


def owner_prepare(base_url: str) -> str:
    """The owner with a token in `owner-token`; returns a link that signs them in once."""
    owner = accounts.owner_ensure(settings.PODRACER_HOME / "owner-token")
    return accounts.sign_in_link_create(owner, base_url)


def _static_fingerprint() -> str:
    """Changes whenever a static file's name, size or time changes."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in sorted(finder.list(STATIC_IGNORED), key=lambda found: str(found[0])):
            details = Path(storage.path(path)).stat()
            digest.update(f"{storage.path(path)} {details.st_size} {details.st_mtime_ns}\n".encode())
    return digest.hexdigest()
