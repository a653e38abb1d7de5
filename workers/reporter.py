"""Passes the curves of a worker's pods on together: few writes, and still on the page within a fraction of a second."""

import time
from threading import Lock

from podracer_core.progress import Progress
from webapp.tournaments import orchestrator
from webapp.tournaments.claims import Report
from webapp.tournaments.errors import PodLostError
from workers.database import AWAY, persistently

FLUSH_SECONDS = 0.1

Attempt = tuple[int, int]
"""A pod's id and its attempt."""


class Reporter:
    """Collects the points of all pods of this process. Whichever slot finds that they are due stores those of all.

    Its methods raise PodLostError once the attempt that they are called for is refused, and whatever kept its points,
    and them alone, from being stored.
    """

    def __init__(self) -> None:
        self._points: dict[Attempt, list[Progress]] = {}
        self._known: set[Attempt] = set()
        self._faults: dict[Attempt, Exception] = {}
        self._state, self._storing = Lock(), Lock()
        self._flushed_at = 0.0

    def add(self, attempt: Attempt, point: Progress) -> None:
        with self._state:
            self._known.add(attempt)
            self._points.setdefault(attempt, []).append(point)
        self.flush_if_due(attempt)

    def seconds_until_due(self, limit: float) -> float:
        """How long nothing needs to be stored, `limit` at most."""
        if not self._points:
            return limit
        if self._storing.locked():
            return min(limit, FLUSH_SECONDS)
        return min(limit, max(0.0, self._flushed_at + FLUSH_SECONDS - time.monotonic()))

    def flush_if_due(self, attempt: Attempt) -> None:
        due = self._points and time.monotonic() - self._flushed_at >= FLUSH_SECONDS
        if due and self._storing.acquire(blocking=False):
            try:
                self._store()
            finally:
                self._storing.release()
        self._check(attempt)

    def take(self, attempt: Attempt) -> list[Progress]:
        """The points that are not stored yet, for whoever hands in the attempt's result; all before them are stored."""
        with self._storing, self._state:
            points = self._points.pop(attempt, [])
        self._check(attempt)
        return points

    def forget(self, attempt: Attempt) -> None:
        """Nothing more comes of it."""
        with self._state:
            self._known.discard(attempt)
            self._points.pop(attempt, None)
            self._faults.pop(attempt, None)

    def _store(self) -> None:
        with self._state:
            taken, self._points = self._points, {}
            self._flushed_at = time.monotonic()
        try:
            self._store_together(list(taken.items()))
        except AWAY:  # says nothing of the points
            self._put_back(taken)
            raise

    def _store_together(self, batch: list[tuple[Attempt, list[Progress]]]) -> None:
        """What fails together is stored one by one, so that what is wrong with one pod is no other's fault."""
        if not batch:
            return
        reports = [Report(*attempt, points) for attempt, points in batch]
        try:
            lost = persistently(lambda: orchestrator.pods_progress(reports))
        except AWAY:
            raise
        except Exception as error:  # whatever the points of somebody's environment bring about
            if len(batch) == 1:
                self._note(batch[0][0], error)
                return
            for one in batch:
                self._store_together([one])
        else:
            for pod_id, attempt in lost:
                self._note((pod_id, attempt), PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}"))

    def _note(self, attempt: Attempt, fault: Exception) -> None:
        with self._state:
            if attempt in self._known:
                self._faults[attempt] = fault

    def _put_back(self, taken: dict[Attempt, list[Progress]]) -> None:
        with self._state:
            for attempt, points in taken.items():
                if attempt in self._known:
                    self._points[attempt] = points + self._points.get(attempt, [])

    def _check(self, attempt: Attempt) -> None:
        fault = self._faults.get(attempt)
        if fault is not None:
            raise fault
