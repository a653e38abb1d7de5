"""Passes a pod's learning curve on, in batches: few writes, and still on the page within a fraction of a second."""

import time

from podracer_core.progress import Progress
from webapp.tournaments import orchestrator
from workers.database import persistently

FLUSH_SECONDS = 0.1
MAX_BATCH = 500


class Reporter:
    """Collects the points of one attempt of a pod and stores those that are due."""

    def __init__(self, pod_id: int, attempt: int) -> None:
        self.pod_id = pod_id
        self.attempt = attempt
        self._points: list[Progress] = []
        self._flushed_at = 0.0

    def add(self, point: Progress) -> None:
        """Raises PodLostError when the point makes a batch that is refused."""
        self._points.append(point)
        if time.monotonic() - self._flushed_at >= FLUSH_SECONDS or len(self._points) >= MAX_BATCH:
            self.flush()

    def seconds_until_due(self, limit: float) -> float:
        """How long nothing needs to be flushed, `limit` at most."""
        if not self._points:
            return limit
        return min(limit, max(0.0, self._flushed_at + FLUSH_SECONDS - time.monotonic()))

    def flush_if_due(self) -> None:
        """Raises PodLostError."""
        if self._points and time.monotonic() - self._flushed_at >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Store all points so far. Raises PodLostError."""
        self._flushed_at = time.monotonic()
        if not self._points:
            return
        points, self._points = self._points, []
        persistently(lambda: orchestrator.pod_progress(pod_id=self.pod_id, attempt=self.attempt, points=points))
