"""A worker whose pods only talk: in place of their processes, one that says so many points a second and trains nothing.

    python -m benchmarks.viewers.pods --rate 10 --round-seconds 20

All else is the real worker: it claims, reports, renews leases, stores states and hands in results. One pod in ten is
lost after it has saved a state, and goes on from there.
"""

import argparse
import json
import sys
import time
from collections import deque
from pathlib import Path
from random import Random

from podracer_core.progress import Directive, Evaluation, Outcome, PodMessage, PodResult, Progress, Saved
from podracer_core.spec import PodPlan

STEPS_A_POINT = 100
LOST_SHARE = 0.1


class TalkingPod:
    """In place of a pod process."""

    alive = True
    rate = 10.0
    round_seconds = 20.0

    def __init__(self, device: str = "cpu", threads: int = 1) -> None:
        self._next: deque[PodMessage] = deque()

    def start(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...

    def direct(self, directive: Directive) -> None:
        outcome = {Directive.STOP: Outcome.STOPPED, Directive.PAUSE: Outcome.PAUSED}.get(directive)
        if outcome:
            self._next.append(
                PodResult(outcome, self._points * STEPS_A_POINT, self._seconds(), state_path=self._state())
            )

    def submit(self, plan: PodPlan) -> None:
        self._folder = Path(plan.directory)
        done = json.loads(Path(plan.resume_from).read_bytes()) if plan.resume_from else {"points": 0, "seconds": 0.0}
        self._random = Random(f"{plan.seed} {done['points']}")
        self._points, self._before, self._episodes = done["points"], done["seconds"], plan.eval_episodes
        self._began, self._first = time.time(), self._points
        length = round(self.rate * self.round_seconds * self._random.uniform(0.5, 1.5))
        self._last = self._points + length
        lost = not plan.resume_from and self._random.random() < LOST_SHARE
        self._saved_at, self._lost_at = (length // 3, length // 2) if lost else (None, None)
        self._talent = Random(plan.seed).uniform(100, 400)
        self._next.clear()

    def poll(self, timeout: float) -> PodMessage | None:
        if self._next:
            return self._next.popleft()
        due = self._began + (self._points - self._first + 1) / self.rate
        time.sleep(max(0.0, min(timeout, due - time.time())))
        return self._say() if time.time() >= due else None

    def _say(self) -> PodMessage:
        if self._points >= self._last:
            return self._result()
        if self._points == self._lost_at:
            return PodResult(Outcome.FAILED, 0, 0.0, reason="It was lost on purpose.", retryable=True)
        self._points += 1
        if self._points == self._saved_at:
            self._next.append(Saved(self._state(), self._points * STEPS_A_POINT, self._seconds()))
        value = self._talent * (1 - 0.98**self._points) + self._random.gauss(0, 8)
        losses = {"policy_loss": self._random.gauss(0, 0.1), "value_loss": self._random.expovariate(1)}
        rate = STEPS_A_POINT * self.rate
        return Progress(self._points * STEPS_A_POINT, self._seconds(), rate, value, losses, sent_at=time.time())

    def _result(self) -> PodResult:
        returns = tuple(self._random.gauss(self._talent, 10) for _ in range(self._episodes))
        score = sum(returns) / len(returns)
        evaluation = Evaluation(score, score - 5, score + 5, score, score, returns, (10,) * len(returns))
        steps = self._points * STEPS_A_POINT
        return PodResult(Outcome.FINISHED, steps, self._seconds(), evaluation, state_path=self._state())

    def _seconds(self) -> float:
        return self._before + time.time() - self._began

    def _state(self) -> str:
        path = self._folder / f"state-{self._points}.pt"
        path.write_text(json.dumps({"points": self._points, "seconds": self._seconds()}))
        return str(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=TalkingPod.rate, help="points a second of each pod")
    parser.add_argument("--round-seconds", type=float, default=TalkingPod.round_seconds, help="of a pod, on average")
    options = parser.parse_args()
    TalkingPod.rate, TalkingPod.round_seconds = options.rate, options.round_seconds
    import workers.__main__
    import workers.celery
    import workers.slot

    workers.slot.PodProcess = TalkingPod  # type: ignore[assignment, misc]
    return workers.__main__.main()


if __name__ == "__main__":
    sys.exit(main())
