"""What a pod says while it trains, and what it may be told. Plain data, so that hosts need no torch to read it."""

from dataclasses import dataclass, field
from enum import StrEnum


class Directive(StrEnum):
    """What the host wants of a running pod; asked for between two iterations of the learner."""

    CONTINUE = "continue"
    PAUSE = "pause"  # save the state, end; the same pod goes on later from there
    STOP = "stop"  # save what there is, end for good; nothing is evaluated
    END = "end"  # end the round now as if its budget were used up: evaluated and scored


class Outcome(StrEnum):
    FINISHED = "finished"
    STOPPED = "stopped"
    PAUSED = "paused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Undiscounted returns of fresh deterministic episodes, and what they say about the policy.

    `score` is the ranking statistic that the plan asked for; `score_low` and `score_high` bound its 95 %
    bootstrap confidence interval.
    """

    score: float
    score_low: float
    score_high: float
    mean: float
    iqm: float
    returns: tuple[float, ...]
    lengths: tuple[int, ...]

    @property
    def episodes(self) -> int:
        return len(self.returns)


@dataclass(frozen=True, slots=True)
class Progress:
    """One point of the learning curve.

    env_steps: steps this pod has trained, over all its environments, since its round began
    seconds: training wall clock of the round so far, evaluations included
    episodic_return: mean return of the latest finished training episodes; None before the first
    losses: what the learner reports, by the field's names (policy_loss, value_loss, entropy, approx_kl ...)
    sent_at: Unix time at which the point left the pod
    """

    env_steps: int
    seconds: float
    env_steps_per_second: float
    episodic_return: float | None
    losses: dict[str, float] = field(default_factory=dict)
    sent_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Saved:
    """The pod wrote a state from which it can go on: `path` holds env_steps steps of training."""

    path: str
    env_steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the person who reads the pod's log."""

    text: str
    level: str = "info"


@dataclass(frozen=True, slots=True)
class PodResult:
    """How a pod ended. Paths are None where nothing was written.

    evaluation: of the agent in `checkpoint_path`; None unless FINISHED
    screening: the evaluation by which it would have entered the leaderboard, where `evaluation` has further episodes
    confirmation: the further episodes that a reached target score is confirmed with; None where not reached
    reason: why it FAILED, in a sentence; `retryable` says whether another try may succeed
    lost_donor: position in the plan's `inherit_from` of a state that is gone or damaged
    """

    outcome: Outcome
    env_steps: int
    seconds: float
    evaluation: Evaluation | None = None
    confirmation: Evaluation | None = None
    screening: Evaluation | None = None
    checkpoint_path: str | None = None
    state_path: str | None = None
    reason: str = ""
    retryable: bool = False
    diverged: bool = False
    lost_donor: int | None = None


PodMessage = Progress | Saved | Log | PodResult
