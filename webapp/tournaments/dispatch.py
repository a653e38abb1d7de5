"""Rings for work: Celery messages by name, without content. Nothing here imports a task."""

import logging

from celery import Celery
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

RUN_POD = "workers.run_pod"

MAKE_ARTEFACTS = "make_artefacts"
"""A control command rather than a task: every worker hears it at once, also one whose slots all train."""

READ_ORDERS = "read_orders"
"""A control command for one worker: whether it is to be drained has changed."""

RING_EXPIRES = 10.0
"""Seconds after which an unheard ring is dropped; the sweep rings again for pods that still wait."""

_broker = Celery("podracer-dispatch", broker=settings.REDIS_URL, set_as_current=False)
_broker.conf.update(
    task_ignore_result=True,
    broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 2, "retry_on_timeout": False},
)


def queue_name(device_kind: str) -> str:
    """The Celery queue that slots of `device_kind` listen to."""
    return f"pods.{device_kind}"


def ring(device_kind: str, times: int = 1) -> None:
    """Tell slots of `device_kind`, once the transaction has committed, that there is work."""
    transaction.on_commit(lambda: _send(device_kind, times))


def _send(device_kind: str, times: int) -> None:
    try:
        for _ in range(times):
            _broker.send_task(RUN_POD, queue=queue_name(device_kind), expires=RING_EXPIRES, retry=False)
    except (OperationalError, OSError) as error:
        # Nothing is lost: the pod waits in PostgreSQL and the sweep rings again.
        logger.warning("could not ring for %s pods: %s", device_kind, error)


def ring_artefacts() -> None:
    """Tell all workers, once the transaction has committed, that exports or replays are wanted."""
    transaction.on_commit(lambda: _broadcast(MAKE_ARTEFACTS))


def node_name(worker: str) -> str:
    """What Celery calls a worker."""
    return f"podracer@{worker}"


def ring_worker(name: str) -> None:
    """Tell one worker, once the transaction has committed, to read what is wanted of it."""
    transaction.on_commit(lambda: _broadcast(READ_ORDERS, destination=[node_name(name)]))


def _broadcast(command: str, **to: list[str]) -> None:
    try:
        _broker.control.broadcast(command, **to)
    except (OperationalError, OSError) as error:
        # Nothing is lost: what is wanted stands in PostgreSQL, where it is read or rung for again.
        logger.warning("could not send %s: %s", command, error)
