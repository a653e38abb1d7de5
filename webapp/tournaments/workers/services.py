"""What people do to workers. Their signs of life are in `services`.

What is wanted stands in PostgreSQL, where each claim and the worker's next sign of life read it; the messages only
make it prompt.
"""

from django.db import transaction

from webapp.tournaments import clock, dispatch, orchestrator
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.models import Worker

SILENCE = 3 * orchestrator.LEASE
"""A worker that was not heard of for so long is offline."""


def worker_drain(*, name: str, now: bool = False) -> None:
    """Give a worker nothing more; `now`: what it runs saves its state and goes on elsewhere.

    Raises Worker.DoesNotExist.
    """
    with transaction.atomic():
        worker = _locked(name)
        worker.drain = Worker.Drain.NOW if now else Worker.Drain.AFTER
        worker.save(update_fields=["drain"])
        dispatch.ring_worker(name)


def worker_resume(*, name: str) -> None:
    """Let a worker take work again. Raises Worker.DoesNotExist."""
    with transaction.atomic():
        worker = _locked(name)
        worker.drain = Worker.Drain.NO
        worker.save(update_fields=["drain"])
        dispatch.ring_worker(name)
        dispatch.ring(worker.device_kind, worker.slots)
        dispatch.ring_artefacts()


def worker_forget(*, name: str) -> None:
    """Strike an offline worker from the list. Raises Worker.DoesNotExist, TournamentError for one that is online."""
    with transaction.atomic():
        worker = _locked(name)
        if worker.seen_at > clock.database_now() - SILENCE:
            raise TournamentError(f"Worker {name} is online and would be back at once; stop it first, or drain it.")
        worker.delete()


def _locked(name: str) -> Worker:
    try:
        return Worker.objects.select_for_update().get(name=name)
    except Worker.DoesNotExist:
        raise Worker.DoesNotExist(f"There is no worker {name!r}.") from None
