"""How an agent in training is scored: on seeds of its own, a reached target confirmed, a high score taken twice."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podracer_core.agents.learner import Learner, State
from podracer_core.errors import DivergedError
from podracer_core.evaluator import Evaluator
from podracer_core.progress import Evaluation
from podracer_core.spec import PodPlan
from podracer_core.tournament import sentences


@dataclass(frozen=True)
class Verdict:
    """What an evaluation came to.

    confirmation: further episodes, where it reached the target; again: further ones because it might enter the
    leaderboard; glance: what was played first, fewer episodes where each costs
    """

    evaluation: Evaluation
    confirmation: Evaluation | None
    again: Evaluation | None
    glance: Evaluation

    def __str__(self) -> str:
        text = f"score {sentences.number(self.evaluation.score)} over {self.evaluation.episodes} episodes"
        more = self.again or self.confirmation
        return f"{text}, {sentences.number(more.score)} over {more.episodes} more" if more else text


class _InterruptedError(Exception):
    """A pause or a stop came in the middle of an evaluation."""


class Scorer:
    """Scores the agents of one pod.

    interrupted: asked at every step of an evaluation; then there is no verdict, and a resumed pod plays the same seeds
    """

    def __init__(self, plan: PodPlan, evaluator: Evaluator, interrupted: Callable[[], bool]) -> None:
        self.plan = plan
        self.evaluator = evaluator
        self._interrupted = interrupted
        self._evaluations = 0
        self._best: tuple[float, State] | None = None  # of looks in the middle: score, what was learned

    def look(self, learner: Learner, env_steps: int) -> Verdict | None:
        """Whether the target is reached in the middle of a round; a short look first. None when interrupted."""
        target, whole, evaluations = self.plan.target_score, self.plan.eval_episodes, self._evaluations
        assert target is not None
        try:
            evaluation = glance = self._evaluate(learner, env_steps, self.evaluator.glance(whole))
            if target <= glance.score and glance.episodes < whole:
                evaluation = self._evaluate(learner, env_steps, whole)
            confirmation = self._confirm(learner, env_steps, evaluation)
        except _InterruptedError:
            self._evaluations = evaluations
            return None
        if not self.reached(confirmation) and (self._best is None or evaluation.score > self._best[0]):
            self._best = evaluation.score, learner.learned()
        return Verdict(evaluation, confirmation, confirmation if self._would_enter(evaluation) else None, glance)

    def judge(self, learner: Learner, env_steps: int) -> Verdict | None:
        """The score at the end of a round; `learner` then holds the agent that has it. None when interrupted."""
        evaluations, latest = self._evaluations, learner.learned()
        try:
            evaluation = self._choose(learner, env_steps)
            again = confirmation = self._confirm(learner, env_steps, evaluation)
            if again is None and self._would_enter(evaluation):
                again = self._evaluate(learner, env_steps, self.plan.eval_episodes)
        except _InterruptedError:
            self._evaluations = evaluations
            learner.inherit(latest)
            return None
        return Verdict(evaluation, confirmation, again if self._would_enter(evaluation) else None, evaluation)

    def reached(self, confirmation: Evaluation | None) -> bool:
        """Whether further episodes hold up a score that reached the target."""
        target = self.plan.target_score
        return confirmation is not None and target is not None and confirmation.score >= target

    def state(self) -> State:
        return {"evaluations": self._evaluations, "best": self._best}

    def load_state(self, state: State) -> None:
        self._evaluations, self._best = state["evaluations"], state["best"]

    def _evaluate(self, learner: Learner, env_steps: int, episodes: int) -> Evaluation:
        """On seeds not used before. Raises _InterruptedError, DivergedError."""
        sequence = np.random.SeedSequence([self.plan.seed, self._evaluations + 1])
        seed = int(sequence.generate_state(1)[0])
        evaluation = self.evaluator.evaluate(learner.act, episodes, seed, self.plan.score, self._interrupted)
        if evaluation is None:
            raise _InterruptedError
        self._evaluations += 1
        if not math.isfinite(evaluation.score):
            raise DivergedError(f"An evaluation's return became NaN or infinite after {env_steps:,} env steps.")
        return evaluation

    def _confirm(self, learner: Learner, env_steps: int, evaluation: Evaluation) -> Evaluation | None:
        """Further episodes, where the evaluation reached the target."""
        target = self.plan.target_score
        if target is None or evaluation.score < target:
            return None
        return self._evaluate(learner, env_steps, self.plan.confirm_episodes)

    def _choose(self, learner: Learner, env_steps: int) -> Evaluation:
        """Evaluates the latest agent and, where one in the middle scored higher, that one anew; keeps the better.

        Its old score would be flattering: it was picked for it.
        """
        evaluation = self._evaluate(learner, env_steps, self.plan.eval_episodes)
        if self._best is None or self._best[0] <= evaluation.score:
            return evaluation
        latest = learner.learned()
        learner.inherit(self._best[1])
        again = self._evaluate(learner, env_steps, self.plan.eval_episodes)
        if again.score > evaluation.score:
            return again
        learner.inherit(latest)
        return evaluation

    def _would_enter(self, evaluation: Evaluation) -> bool:
        """Whether it has to be evaluated again: a score that beats the bar was picked for being high.

        The bar is that of when the pod began. It only rises, so that nobody enters by one evaluation alone.
        """
        return self.plan.reevaluate and (self.plan.bar is None or evaluation.score > self.plan.bar)
