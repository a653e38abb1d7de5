"""The Celery tasks, and what a worker holds while it lives: its slots, its maker of artefacts, its sign of life."""

import logging
import queue
import threading
from typing import Any

from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from celery.worker.control import control_command
from django.db import close_old_connections

from podracer_core.errors import PodracerError
from webapp.stop_signals import Relay
from webapp.tournaments import dispatch, services
from workers.artefacts import ArtefactMaker
from workers.celery import app
from workers.database import while_wanted
from workers.host import EVERY_SECONDS, UsageMeter, host_facts
from workers.machine import Machine, machine
from workers.reporter import Reporter
from workers.slot import Slot

logger = logging.getLogger(__name__)


class Listening:
    """Whether this worker hears the bell of its queue. A change is made by the thread that owns the connection."""

    def __init__(self, consumer: Any, queue_name: str) -> None:
        self._consumer, self._queue = consumer, queue_name
        self._wanted = True

    def want(self, wanted: bool) -> None:
        if wanted == self._wanted:
            return
        self._wanted = wanted
        change = self._consumer.add_task_queue if wanted else self._consumer.cancel_task_queue
        self._consumer.call_soon(change, self._queue)


class Worker:
    """The slots of this process. Their pod processes start with the worker, so that the first pod finds them warm."""

    def __init__(self, here: Machine, listening: Listening) -> None:
        self.machine = here
        self.listening = listening
        self.stopping = threading.Event()
        reporter = Reporter()
        self.slots = [Slot(here, index, self.stopping, reporter) for index in range(here.slots)]
        self.free: queue.LifoQueue[Slot] = queue.LifoQueue()
        self.maker = ArtefactMaker(here.name, self.stopping)
        self.orders = threading.Event()
        """Set when what is wanted of this worker has changed, or nothing is any more."""
        self.asked_to_stop = Relay(self.stop)

    def start(self) -> None:
        """Returns at once: the thread that calls is the one that hears Celery's messages."""
        threading.Thread(target=self._live, name="heartbeat", daemon=True).start()

    def _live(self) -> None:
        # Before any slot takes a pod, which would be lost as well.
        while_wanted(lambda: services.worker_started(name=self.machine.name), self.stopping)
        if self.stopping.is_set():
            return
        for slot in reversed(self.slots):
            threading.Thread(target=self._open, args=(slot,), name=f"warm-{slot.index}", daemon=True).start()
        self.maker.start()
        facts, meter = host_facts(self.machine), UsageMeter(self.machine.device_kind)
        while not self.stopping.is_set():
            drain = self._say_alive(facts, meter.usage())
            if drain is not None:
                self._obey(drain)
            self.orders.wait(EVERY_SECONDS)
            self.orders.clear()

    def _say_alive(self, facts: dict[str, Any], usage: dict[str, Any]) -> str | None:
        here = self.machine
        return while_wanted(
            lambda: services.worker_seen(
                name=here.name, device_kind=here.device_kind, slots=here.slots, facts=facts, usage=usage
            ),
            self.stopping,
        )

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

    def _obey(self, drain: str) -> None:
        """Claims are refused while it is drained; beside that it must not hear bells that others could answer."""
        self.listening.want(not drain)
        for leaving in (self.maker.leaving, *(slot.leaving for slot in self.slots)):
            leaving.set() if drain == "now" else leaving.clear()

    def stop(self) -> None:
        self.stopping.set()
        self.orders.set()

    def close(self) -> None:
        self.stop()
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


@control_command(name=dispatch.READ_ORDERS)  # type: ignore[untyped-decorator]
def read_orders(state: Any) -> None:
    """Heard that this worker is to be drained or to take work again: the next sign of life reads it, and is now."""
    if _worker:
        _worker.orders.set()


@worker_ready.connect  # type: ignore[untyped-decorator]
def _on_ready(sender: Any, **_: Any) -> None:
    global _worker
    here = machine()
    _worker = Worker(here, Listening(sender, dispatch.queue_name(here.device_kind)))
    _worker.start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _on_shutting_down(**_: Any) -> None:
    """Running pods save their state and go back into the queue; Celery waits for them."""
    if _worker:
        _worker.asked_to_stop.ring()  # in a signal handler


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _on_shutdown(**_: Any) -> None:
    if _worker:
        _worker.close()
