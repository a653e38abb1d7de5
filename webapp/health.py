"""Is the process alive, can it do its work, and what did it measure."""

import socket
from collections.abc import Callable, Iterator

import redis
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from webapp.tournaments.keeping import disk
from webapp.tournaments.keeping import selectors as storage_selectors

CHECK_SECONDS = 2


def healthz(request: HttpRequest) -> JsonResponse:
    """Liveness: this process answers."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Readiness: 200 when database, broker and storage work, else 503 with the reason of each failure."""
    failures = {name: reason for name, check in CHECKS.items() if (reason := _failure(check))}
    checks = {name: failures.get(name, "ok") for name in CHECKS}
    status = "unavailable" if failures else "ok"
    return JsonResponse({"status": status, "checks": checks}, status=503 if failures else 200)


def metrics(request: HttpRequest) -> HttpResponse:
    """What this process counted, in Prometheus' text format."""
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


class StorageCollector(Collector):
    """What the files of all tournaments take, and what their disk has left, where they are on one."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: a registry would otherwise collect, and ask the database, as soon as this is registered."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        used = GaugeMetricFamily("podracer_storage_used_bytes", "Files of tournaments.", labels=["kind"])
        for kind, size in storage_selectors.totals_lately().items():
            used.add_metric([kind], size)
        yield used
        found = disk.disk_lately()
        if found:
            yield GaugeMetricFamily("podracer_storage_free_bytes", "Free on the storage's disk.", found.free)
            yield GaugeMetricFamily("podracer_storage_size_bytes", "Size of the storage's disk.", found.total)


REGISTRY.register(StorageCollector())


def _failure(check: Callable[[], None]) -> str:
    """Why a check fails, or an empty string."""
    try:
        check()
    # Whatever goes wrong in a driver, the answer is the same: not ready, and why.
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def _database_check() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = {CHECK_SECONDS * 1000}")
        cursor.execute("SELECT count(*) FROM django_migrations")
        cursor.execute("RESET statement_timeout")


def _broker_check() -> None:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=CHECK_SECONDS, socket_timeout=CHECK_SECONDS
    ) as client:
        client.ping()


def _storage_check() -> None:
    """Write, find and delete one small file of this process's own."""
    name = default_storage.save(f"health/{socket.gethostname()}", ContentFile(b"ok"))
    try:
        if not default_storage.exists(name):
            raise OSError(f"{name} was written and is not there")
    finally:
        default_storage.delete(name)


CHECKS: dict[str, Callable[[], None]] = {
    "database": _database_check,
    "broker": _broker_check,
    "storage": _storage_check,
}
