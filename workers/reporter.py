"""Passes the curves of a worker's pods on together: few writes, and still on the page within a fraction of a second."""

import time
from threading import Lock

from podracer_core.progress import Progress
from webapp.tournaments import orchestrator
from webapp.tournaments.claims import Report
from webapp.tournaments.errors import PodLostError
from workers.database import persistently

FLUSH_SECONDS = 0.1

Attempt = tuple[int, int]
"""A pod's id and its attempt."""


class Reporter:
    """Collects the points of all pods of this process. Whichever slot finds that they are due stores those of all.

    Its methods raise PodLostError once the attempt that they are called for is refused.
    """

    def __init__(self) -> None:
        self._points: dict[Attempt, list[Progress]] = {}
        self._lost: set[Attempt] = set()
        self._state, self._storing = Lock(), Lock()
        self._flushed_at = 0.0

    def add(self, attempt: Attempt, point: Progress) -> None:
        with self._state:
            self._points.setdefault(attempt, []).append(point)
        self.flush_if_due(attempt)

    def seconds_until_due(self, limit: float) -> float:
        """How long nothing needs to be stored, `limit` at most."""
        if not self._points:
            return limit
        return min(limit, max(0.0, self._flushed_at + FLUSH_SECONDS - time.monotonic()))

    def flush_if_due(self, attempt: Attempt) -> None:
        due = self._points and time.monotonic() - self._flushed_at >= FLUSH_SECONDS
        if due and self._storing.acquire(blocking=False):
            try:
                self._store()
            finally:
                self._storing.release()
        self._check(attempt)

    def flush(self, attempt: Attempt) -> None:
        """Store all points so far, of the other pods too."""
        with self._storing:
            self._store()
        self._check(attempt)

    def forget(self, attempt: Attempt) -> None:
        """Nothing more comes of it."""
        with self._state:
            self._points.pop(attempt, None)
            self._lost.discard(attempt)

    def _store(self) -> None:
        with self._state:
            taken, self._points = self._points, {}
            self._flushed_at = time.monotonic()
        if not taken:
            return
        reports = [Report(*attempt, points) for attempt, points in taken.items()]
        try:
            lost = persistently(lambda: orchestrator.pods_progress(reports))
        except BaseException:
            self._put_back(taken)
            raise
        with self._state:
            self._lost |= lost

    def _put_back(self, taken: dict[Attempt, list[Progress]]) -> None:
        with self._state:
            for attempt, points in taken.items():
                self._points[attempt] = points + self._points.get(attempt, [])

    def _check(self, attempt: Attempt) -> None:
        if attempt in self._lost:
            raise PodLostError(f"pod {attempt[0]} is no longer run by attempt {attempt[1]}")
