"""Slots on this machine: each a thread with a warm pod process, which trains one pod after another."""

import queue
import threading
from contextlib import suppress
from typing import NamedTuple

from podracer_core.errors import PodProcessLostError, PodracerError
from podracer_core.pod_process import PodProcess
from podracer_core.progress import Directive, Log, Outcome, PodMessage, PodResult
from podracer_core.spec import PodPlan

POLL_SECONDS = 0.25
OBEY_SECONDS = 10.0
"""A pod that was told to end and does not (a hanging environment, say) is killed after this."""


class Message(NamedTuple):
    """What the pod of agent `agent` said; its PodResult comes last, whatever happens."""

    slot: "Slot"
    agent: int
    message: PodMessage


class Slot(threading.Thread):
    """agent: the index of the one in training, or None; messages go to `inbox`."""

    def __init__(self, number: int, device: str, threads: int, inbox: "queue.SimpleQueue[Message]") -> None:
        super().__init__(name=f"slot-{number}", daemon=True)
        self.number = number
        self.agent: int | None = None
        self._inbox = inbox
        self._device, self._threads = device, threads
        self._process = PodProcess(device, threads)
        self._plans: queue.SimpleQueue[PodPlan | None] = queue.SimpleQueue()
        self._told = threading.Event()
        self.start()

    def submit(self, agent: int, plan: PodPlan) -> None:
        """Begins a pod; not while another is in training."""
        self.agent = agent
        self._told.clear()
        self._plans.put(plan)

    def direct(self, directive: Directive) -> None:
        """Tells the running pod; one that does not obey in time is killed."""
        if directive in (Directive.STOP, Directive.PAUSE):
            self._told.set()
        self._process.direct(directive)

    def close(self) -> None:
        self._plans.put(None)
        self._process.kill()
        self.join()
        self._process.close()

    def run(self) -> None:
        """Warms the process, then trains what is submitted."""
        with suppress(PodracerError):  # a device that is missing is said by the first pod, with its reason
            self._process.start()
        while (plan := self._plans.get()) is not None:
            assert self.agent is not None
            self._train(self.agent, plan)

    def _train(self, agent: int, plan: PodPlan) -> None:
        try:
            if not self._process.alive:
                self._process.close()
                self._process = PodProcess(self._device, self._threads)
                self._process.start()
            self._process.submit(plan)
            result = self._relay(agent)
        except PodracerError as error:
            result = PodResult(Outcome.FAILED, 0, 0.0, reason=str(error), retryable=error.retryable)
        self._inbox.put(Message(self, agent, result))

    def _relay(self, agent: int) -> PodResult:
        waited = 0.0
        while waited < OBEY_SECONDS:
            message = self._process.poll(POLL_SECONDS)
            if isinstance(message, PodResult):
                return message
            if message is not None:
                self._inbox.put(Message(self, agent, message))
            elif self._told.is_set():
                waited += POLL_SECONDS
        self._process.kill()
        text = f"It did not end within {OBEY_SECONDS:.0f} seconds of being told to."
        self._inbox.put(Message(self, agent, Log(text, "warning")))
        raise PodProcessLostError(text)
