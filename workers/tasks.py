"""The Celery tasks, and what a worker holds while it lives: its slots, its maker of artefacts, its sign of life."""

import logging
import queue
import threading
from typing import Any

from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from celery.worker.control import control_command
from django.db import close_old_connections

from podracer_core.errors import PodracerError
from webapp.tournaments import dispatch, services
from workers.artefacts import ArtefactMaker
from workers.celery import app
from workers.database import persistently
from workers.machine import Machine, machine
from workers.slot import Slot

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5.0


class Worker:
    """The slots of this process. Their pod processes start with the worker, so that the first pod finds them warm."""

    def __init__(self, here: Machine) -> None:
        self.machine = here
        self.stopping = threading.Event()
        self.slots = [Slot(here, index, self.stopping) for index in range(here.slots)]
        self.free: queue.LifoQueue[Slot] = queue.LifoQueue()
        self.maker = ArtefactMaker(here.name, self.stopping)

    def start(self) -> None:
        persistently(lambda: services.worker_started(name=self.machine.name))
        threading.Thread(target=self._live, name="heartbeat", daemon=True).start()
        for slot in reversed(self.slots):
            threading.Thread(target=self._open, args=(slot,), name=f"warm-{slot.index}", daemon=True).start()
        self.maker.start()

    def _open(self, slot: Slot) -> None:
        try:
            slot.warm()
        except PodracerError as error:
            # Said here and by each pod that is tried: the slot stays, since what is wrong may pass.
            if not self.stopping.is_set():
                logger.error("slot %d: %s", slot.index, error)
        self.free.put(slot)
        # Pods may have been queued while no slot could hear the bell.
        dispatch.ring(self.machine.device_kind)

    def run(self) -> int:
        """Run queued pods on a free slot until none is left; 0 when no slot is free."""
        try:
            slot = self.free.get_nowait()
        except queue.Empty:
            return 0
        try:
            return slot.work()
        finally:
            self.free.put(slot)
            close_old_connections()

    def _live(self) -> None:
        self._say_alive()
        while not self.stopping.wait(HEARTBEAT_SECONDS):
            self._say_alive()

    def _say_alive(self) -> None:
        persistently(
            lambda: services.worker_seen(
                name=self.machine.name, device_kind=self.machine.device_kind, slots=self.machine.slots
            )
        )

    def close(self) -> None:
        self.maker.close()
        for slot in self.slots:
            slot.close()
        services.worker_gone(name=self.machine.name)


_worker: Worker | None = None


@app.task(name=dispatch.RUN_POD)  # type: ignore[untyped-decorator]
def run_pod() -> int:
    """Heard the bell: run what is queued. Returns how many pods were run."""
    return _worker.run() if _worker else 0


@control_command(name=dispatch.MAKE_ARTEFACTS)  # type: ignore[untyped-decorator]
def make_artefacts(state: Any) -> None:
    """Heard the bell: an export or a replay is wanted. Answers at once; a thread beside the slots makes it."""
    if _worker:
        _worker.maker.ring()


@worker_ready.connect  # type: ignore[untyped-decorator]
def _on_ready(**_: Any) -> None:
    global _worker
    _worker = Worker(machine())
    _worker.start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _on_shutting_down(**_: Any) -> None:
    """Running pods save their state and go back into the queue; Celery waits for them."""
    if _worker:
        _worker.stopping.set()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _on_shutdown(**_: Any) -> None:
    if _worker:
        _worker.close()
