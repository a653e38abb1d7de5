"""A pod: one agent trained for one round. `Pod(plan, directive).run()` yields what happens, its result last."""

import math
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from podracer_core.agents.learner import State
from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.training_state import load_state, save_state
from podracer_core.checkpoint import OBS_CLIP, save_agent
from podracer_core.device import resolve_device
from podracer_core.envs.catalogue import environment_check
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.errors import CheckpointError, DivergedError, PodracerError, SpecError
from podracer_core.evaluator import Evaluator
from podracer_core.hyperparameters import Hyperparameters, algorithm_problem, batch_problem, complete
from podracer_core.progress import (
    Directive,
    Evaluation,
    Log,
    Outcome,
    PodMessage,
    PodResult,
    Progress,
    Saved,
)
from podracer_core.spec import PodPlan
from podracer_core.target_watch import TargetWatch

PROGRESS_INTERVAL = 0.1
"""Seconds between two points of the curve, unless one iteration takes longer."""

CHECKPOINT_NAME, STATE_NAME = "agent.safetensors", "state.pt"


class _InterruptedError(Exception):
    """PAUSE or STOP came in the middle of an evaluation."""


class Pod:
    """Trains what `plan` says.

    directive: asked between two iterations and at every step of an evaluation; should answer at once
    """

    def __init__(self, plan: PodPlan, directive: Callable[[], Directive] = lambda: Directive.CONTINUE) -> None:
        self.plan = plan
        self._directive = directive
        self._told = Directive.CONTINUE
        self._env_steps = 0
        self._seconds_before = 0.0
        self._began = time.perf_counter()
        self._evaluations = 0
        self._best: tuple[float, State] | None = None  # of evaluations in the middle: score, what was learned
        self._env: VectorEnv | None = None
        self._evaluator: Evaluator | None = None

    def run(self) -> Iterator[PodMessage]:
        """Yields Progress, Saved and Log, then one PodResult. What goes wrong in training is a result too."""
        self._began = time.perf_counter()
        try:
            yield from self._set_up()
            yield from self._train()
        except DivergedError as error:
            yield self._failed(str(error), diverged=True)
        except PodracerError as error:
            yield self._failed(str(error), retryable=error.retryable)
        except (torch.OutOfMemoryError, MemoryError):
            yield self._failed(f"Out of memory on {self.plan.device}.", retryable=True)
        except torch.AcceleratorError as error:
            yield self._failed(f"The device failed: {str(error).splitlines()[0]}", retryable=True)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            yield self._failed(f"Files could not be used:{where} {error.strerror or error}.", retryable=True)
        finally:
            for part in (self._env, self._evaluator):
                if part:
                    part.close()

    # Before

    def _set_up(self) -> Iterator[PodMessage]:
        plan = self.plan
        torch.set_num_threads(plan.threads)
        device = resolve_device(plan.device)
        hyperparameters = complete(plan.algorithm, plan.hyperparameters)
        problem = batch_problem(hyperparameters.model_dump(), plan.num_envs)
        if problem:
            raise SpecError([problem])
        Path(plan.directory).mkdir(parents=True, exist_ok=True)
        self._env = make_vector_env(plan.env_id, plan.num_envs, device)
        misfit = algorithm_problem(plan.algorithm, self._env.action_kind)
        if misfit:
            raise SpecError([("algorithm", misfit)])
        self.learner = LEARNERS[plan.algorithm](self._env, hyperparameters, plan.seed)
        self._evaluator = Evaluator(plan.env_id, device)
        self.watch = TargetWatch(plan.target_score, window=min(max(2 * plan.num_envs, 10), 100))
        if plan.resume_from:
            self._load(load_state(plan.resume_from))
        elif plan.inherit_from:
            self.learner.inherit(load_state(plan.inherit_from)["learner"])
        yield Log(self._description(device))

    def _description(self, device: torch.device) -> str:
        plan, hp = self.plan, self.learner.hp
        start = "from scratch"
        if plan.resume_from:
            start = f"on from {self._env_steps:,} env steps"
        elif plan.inherit_from:
            start = "with its parent's weights, optimizer and normalisers"
        layers = " x ".join([str(hp.hidden_size)] * hp.num_layers) or "none"
        return (
            f"Training {plan.algorithm} on {plan.env_id} {start}: {plan.num_envs} environments on {device}, "
            f"{plan.threads} thread{'s' if plan.threads > 1 else ''}, hidden layers {layers}, {hp.activation}."
        )

    # The round

    def _train(self) -> Iterator[PodMessage]:
        saved_at = reported_at = time.perf_counter()
        reported_steps = self._env_steps
        while self._remaining() > 0 and self._ask() is Directive.CONTINUE:
            if self.watch.due(self._env_steps):
                looked_at = time.perf_counter()
                result = yield from self._look_for_target()
                if result:
                    yield result
                    return
                reported_at += time.perf_counter() - looked_at  # the rate is that of training alone
                continue
            self.watch.add(self.learner.iterate(self._remaining()).returns)
            self._env_steps = self.learner.global_step
            now = time.perf_counter()
            if now - reported_at >= PROGRESS_INTERVAL:
                yield self._progress((self._env_steps - reported_steps) / (now - reported_at))
                reported_at, reported_steps = now, self._env_steps
            if now - saved_at >= self.plan.save_interval_seconds:
                yield Saved(self._save(), self._env_steps, self._seconds())
                saved_at = now
        if self._env_steps > reported_steps:
            elapsed = time.perf_counter() - reported_at
            yield self._progress((self._env_steps - reported_steps) / max(elapsed, 1e-9))
        yield from self._end()

    def _ask(self) -> Directive:
        """The latest directive; one that was given is not taken back."""
        directive = self._directive()
        if directive is not Directive.CONTINUE:
            self._told = directive
        return self._told

    def _interrupted(self) -> bool:
        return self._ask() in (Directive.PAUSE, Directive.STOP)

    def _remaining(self) -> float:
        """The share of the round that is left, from 1 down to 0."""
        plan = self.plan
        by_steps = self._env_steps / plan.env_steps if plan.env_steps else 0.0
        by_seconds = self._seconds() / plan.seconds if plan.seconds else 0.0
        return max(0.0, 1.0 - max(by_steps, by_seconds))

    def _seconds(self) -> float:
        return self._seconds_before + time.perf_counter() - self._began

    def _progress(self, env_steps_per_second: float) -> Progress:
        losses = self.learner.metrics()
        for name, value in losses.items():
            if not math.isfinite(value):
                raise DivergedError(f"The {name} became {value} after {self._env_steps:,} env steps.")
        return Progress(
            env_steps=self._env_steps,
            seconds=self._seconds(),
            env_steps_per_second=env_steps_per_second,
            episodic_return=self.watch.episodic_return,
            losses=losses,
            sent_at=time.time(),
        )

    # Scores

    def _evaluate(self, episodes: int) -> Evaluation:
        """The learner's agent on seeds not used before. Raises _InterruptedError, DivergedError."""
        assert self._evaluator is not None
        sequence = np.random.SeedSequence([self.plan.seed, self._evaluations + 1])
        evaluation = self._evaluator.evaluate(
            self.learner.act, episodes, int(sequence.generate_state(1)[0]), self.plan.score, self._interrupted
        )
        if evaluation is None:
            raise _InterruptedError
        self._evaluations += 1
        if not math.isfinite(evaluation.score):
            raise DivergedError(f"An evaluation's return became NaN or infinite after {self._env_steps:,} env steps.")
        return evaluation

    def _confirm(self, evaluation: Evaluation) -> Evaluation | None:
        """Further episodes, where the evaluation reached the target."""
        target = self.plan.target_score
        if target is None or evaluation.score < target:
            return None
        return self._evaluate(self.plan.confirm_episodes)

    def _look_for_target(self) -> Generator[PodMessage, None, PodResult | None]:
        """Evaluates in the middle of the round. Returns the result once a reached target is confirmed."""
        assert self._evaluator is not None
        evaluations = self._evaluations
        try:
            evaluation = first = self._evaluate(self._evaluator.glance(self.plan.eval_episodes))
            if self._target <= first.score and first.episodes < self.plan.eval_episodes:
                evaluation = self._evaluate(self.plan.eval_episodes)
            confirmation = self._confirm(evaluation)
        except _InterruptedError:
            self._evaluations = evaluations  # a resumed pod looks again, with the same seeds
            return None
        yield Log(f"Evaluated after {self._env_steps:,} env steps: {_text(evaluation, confirmation)}.")
        if confirmation and confirmation.score >= self._target:
            return self._finished(evaluation, confirmation)
        if self._best is None or evaluation.score > self._best[0]:
            self._best = evaluation.score, self.learner.learned()
        # An agent that passed the first look is close: the next one is due as soon as if all had ended there.
        self.watch.missed(self._env_steps, self._evaluator.cost(first, self.plan.num_envs))
        return None

    @property
    def _target(self) -> float:
        assert self.plan.target_score is not None
        return self.plan.target_score

    # After

    def _end(self) -> Iterator[PodMessage]:
        if not self._interrupted():
            evaluations, latest = self._evaluations, self.learner.learned()
            try:
                evaluation = self._choose()
                confirmation = self._confirm(evaluation)
                yield Log(f"The round ended after {self._env_steps:,} env steps: {_text(evaluation, confirmation)}.")
                yield self._finished(evaluation, confirmation)
                return
            except _InterruptedError:
                self._evaluations = evaluations
                self.learner.inherit(latest)
        if self._told is Directive.PAUSE:
            yield self._result(Outcome.PAUSED, state_path=self._save())
        else:
            checkpoint, state = self._write_agent(None, None), self._save()
            yield self._result(Outcome.STOPPED, checkpoint_path=checkpoint, state_path=state)

    def _choose(self) -> Evaluation:
        """Evaluates the latest agent and, where one in the middle scored higher, that one anew; keeps the better.

        Its old score would be flattering: it was picked for it.
        """
        evaluation = self._evaluate(self.plan.eval_episodes)
        if self._best is None or self._best[0] <= evaluation.score:
            return evaluation
        latest = self.learner.learned()
        self.learner.inherit(self._best[1])
        again = self._evaluate(self.plan.eval_episodes)
        if again.score > evaluation.score:
            return again
        self.learner.inherit(latest)
        return evaluation

    def _finished(self, evaluation: Evaluation, confirmation: Evaluation | None) -> PodResult:
        checkpoint, state = self._write_agent(evaluation, confirmation), self._save()
        return self._result(
            Outcome.FINISHED,
            evaluation=evaluation,
            confirmation=confirmation,
            checkpoint_path=checkpoint,
            state_path=state,
        )

    def _failed(self, reason: str, *, retryable: bool = False, diverged: bool = False) -> PodResult:
        return self._result(Outcome.FAILED, reason=reason, retryable=retryable, diverged=diverged)

    def _result(self, outcome: Outcome, **rest: Any) -> PodResult:
        return PodResult(outcome, env_steps=self._env_steps, seconds=self._seconds(), **rest)

    # Files

    def _write_agent(self, evaluation: Evaluation | None, confirmation: Evaluation | None) -> str:
        path = Path(self.plan.directory) / CHECKPOINT_NAME
        tensors = {name: tensor.cpu().numpy() for name, tensor in self.learner.tensors().items()}
        save_agent(path, tensors, agent_metadata(self.plan, self.learner.hp, evaluation, confirmation))
        return str(path)

    def _save(self) -> str:
        """Writes the state from which `resume_from` goes on exactly and `inherit_from` starts."""
        path = Path(self.plan.directory) / STATE_NAME
        state = {
            "env_id": self.plan.env_id,
            "learner": self.learner.state(),
            "seconds": self._seconds(),
            "evaluations": self._evaluations,
            "watch": self.watch.state(),
            "best": self._best,
        }
        save_state(path, state)
        return str(path)

    def _load(self, state: State) -> None:
        if state["env_id"] != self.plan.env_id:
            raise CheckpointError(f"The saved state is of {state['env_id']}, the plan of {self.plan.env_id}.")
        self.learner.load_state(state["learner"])
        self.watch.load_state(state["watch"])
        self._env_steps, self._seconds_before = self.learner.global_step, state["seconds"]
        self._evaluations, self._best = state["evaluations"], state["best"]


def agent_metadata(
    plan: PodPlan, hp: Hyperparameters, evaluation: Evaluation | None, confirmation: Evaluation | None
) -> dict[str, Any]:
    """What a checkpoint says of its agent, as checkpoint.METADATA_KEYS lists it."""
    entry = environment_check(plan.env_id)
    score = _score(evaluation)
    if score is not None:
        score["confirmation"] = _score(confirmation)
    return {
        "env_id": plan.env_id,
        "spaces": {
            "observation": entry.observation_space.model_dump(mode="json"),
            "action": entry.action_space.model_dump(mode="json"),
        },
        "algorithm": plan.algorithm,
        "hyperparameters": hp.model_dump(),
        "network": {
            "hidden_size": hp.hidden_size,
            "num_layers": hp.num_layers,
            "activation": hp.activation,
            "obs_clip": OBS_CLIP,
        },
        "score": score,
        "lineage": plan.lineage,
    }


def _score(evaluation: Evaluation | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    return {name: getattr(evaluation, name) for name in ("score", "score_low", "score_high", "episodes")}


def _text(evaluation: Evaluation, confirmation: Evaluation | None) -> str:
    text = f"score {evaluation.score:.1f} over {evaluation.episodes} episodes"
    if confirmation:
        text += f", {confirmation.score:.1f} over {confirmation.episodes} more"
    return text
