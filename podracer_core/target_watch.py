"""When to look whether a target score is reached: a cheap guess from training returns, in env steps only.

No clock decides, so the same plan is evaluated at the same steps and ends with the same agent.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

PROMISING = 0.6
"""Evaluate once training returns came this far from where they began to the target. The policy explores while
it trains, so that its deterministic self is often there long before the training returns are."""

GAP = 2
"""A missed evaluation is followed by at least this many times its own length of training."""


class TargetWatch:
    """Follows the latest training returns. `window`: how many of them are averaged."""

    def __init__(self, target: float | None, window: int) -> None:
        self.target = target
        self.recent: deque[float] = deque(maxlen=window)
        self._start: float | None = None
        self._not_before = 0

    @property
    def episodic_return(self) -> float | None:
        return sum(self.recent) / len(self.recent) if self.recent else None

    def add(self, returns: Iterable[float]) -> None:
        self.recent.extend(float(value) for value in returns)
        if self._start is None and len(self.recent) == self.recent.maxlen:
            self._start = self.episodic_return

    def due(self, env_steps: int) -> bool:
        """Whether an evaluation now has a fair chance to meet the target."""
        if self.target is None or self._start is None or env_steps < self._not_before:
            return False
        mean = self.episodic_return
        assert mean is not None
        return mean >= min(self.target, self._start + PROMISING * (self.target - self._start))

    def missed(self, env_steps: int, evaluation_cost: int) -> None:
        """evaluation_cost: env steps of training that take about as long as the evaluation took."""
        self._not_before = env_steps + GAP * evaluation_cost

    def state(self) -> dict[str, Any]:
        return {"recent": list(self.recent), "start": self._start, "not_before": self._not_before}

    def load_state(self, state: dict[str, Any]) -> None:
        self.recent.clear()
        self.recent.extend(state["recent"])
        self._start, self._not_before = state["start"], state["not_before"]
