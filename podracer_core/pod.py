"""A pod: one agent trained for one round. `Pod(plan, directive).run()` yields what happens, its result last."""

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from podracer_core.agent_metadata import agent_metadata, frame_stack_of
from podracer_core.agents.compilation import missing_compiler
from podracer_core.agents.convolution import layers_of
from podracer_core.agents.learner import State
from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.training_state import load_state, save_state
from podracer_core.checkpoint import save_agent
from podracer_core.device import resolve_device
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.errors import CheckpointError, DivergedError, DonorError, PodracerError, SpecError
from podracer_core.evaluator import Evaluator
from podracer_core.fuse import fuse
from podracer_core.hyperparameters import (
    algorithm_problem,
    batch_problem,
    complete,
    observation_problem,
)
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
from podracer_core.schedule import Schedule
from podracer_core.scorer import Scorer, Verdict
from podracer_core.spec import PodPlan
from podracer_core.target_watch import TargetWatch
from podracer_core.tournament.statistics import pooled

PROGRESS_INTERVAL = 0.1
"""Seconds between two points of the curve, unless one iteration takes longer."""

SAVE_SHARE = 20
"""Saves that take seconds, of a large replay buffer, take at most this part of the time."""

CHECKPOINT_NAME, STATE_NAME = "agent.safetensors", "state.pt"


class Pod:
    """Trains what `plan` says.

    directive: asked between two iterations and at every step of an evaluation; should answer at once
    """

    def __init__(self, plan: PodPlan, directive: Callable[[], Directive] = lambda: Directive.CONTINUE) -> None:
        self.plan = plan
        self._directive = directive
        self._told = Directive.CONTINUE
        self._env_steps = 0
        self._schedule = Schedule(plan)
        self._seconds_before = 0.0
        self._began = time.perf_counter()
        self._env: VectorEnv | None = None
        self._scorer: Scorer | None = None
        self._compiling = ""

    @torch.inference_mode()  # gradients are written out, and autograd's looks at each operation cost time
    def run(self) -> Iterator[PodMessage]:
        """Yields Progress, Saved and Log, then one PodResult. What goes wrong in training is a result too."""
        self._began = time.perf_counter()
        try:
            yield from self._set_up()
            yield from self._train()
        except DivergedError as error:
            yield self._failed(str(error), diverged=True)
        except DonorError as error:
            yield self._failed(str(error), lost_donor=error.position)
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
            for part in (self._env, self._scorer and self._scorer.evaluator):
                if part:
                    part.close()

    # Before

    def _set_up(self) -> Iterator[PodMessage]:
        plan = self.plan
        torch.set_num_threads(plan.threads)
        device = resolve_device(plan.device)
        if device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32: ten bits of a product are enough to learn from
        Path(plan.directory).mkdir(parents=True, exist_ok=True)
        state = load_state(plan.resume_from) if plan.resume_from else None
        if state:
            self._schedule.load_state(state)
        self._build(device)
        self.watch = TargetWatch(plan.target_score, window=min(max(2 * plan.num_envs, 10), 100))
        if state:
            self._load(state)
        elif plan.inherit_from:
            self._inherit(plan.inherit_from)
        yield Log(self._description(device))
        if self._compiling:
            yield Log(self._compiling)
        yield from self._notes()

    def _build(self, device: torch.device) -> None:
        """The environment and the learner that the current segment of the schedule asks for."""
        plan, num_envs = self.plan, self._schedule.num_envs
        hyperparameters = complete(plan.algorithm, self._schedule.hyperparameters)
        problem = batch_problem(hyperparameters.model_dump(), num_envs)
        if problem:
            raise SpecError([problem])
        frame_stack = frame_stack_of(hyperparameters)
        if self._env is None or self._env.num_envs != num_envs:
            if self._env:
                self._env.close()
            self._env = make_vector_env(plan.env_id, num_envs, device, frame_stack)
        values, sees_images = hyperparameters.model_dump(), self._env.image is not None
        blind = observation_problem(plan.algorithm, values, kind="box", image=sees_images)
        if blind:
            raise SpecError([(blind[0] or "algorithm", blind[1])])
        misfit = algorithm_problem(plan.algorithm, self._env.action_kind)
        if misfit:
            raise SpecError([("algorithm", misfit)])
        self.learner = LEARNERS[plan.algorithm](self._env, hyperparameters, self._schedule.seed)
        if self._scorer is None:
            self._scorer = Scorer(plan, Evaluator(plan.env_id, device, frame_stack), self._interrupted)
        self._compile(device)

    def _compile(self, device: torch.device) -> None:
        """What became of the wish to compile is for the log."""
        if not self.plan.compile:
            return
        missing = missing_compiler(device)
        if missing:
            self._compiling = f"The update is not compiled: {missing}."
        elif not self.learner.compile():
            self._compiling = f"The update is not compiled: {self.plan.algorithm} would gain nothing."
        else:
            self._compiling = "The update is compiled when it first runs, which takes some seconds."

    def _inherit(self, paths: Sequence[str]) -> None:
        """Raises DonorError where a parent's state is gone or damaged, CheckpointError where it does not fit."""
        own = self.learner.learned()
        learned = []
        for position, path in enumerate(paths):
            try:
                state = load_state(path)["learner"]
            except CheckpointError as error:
                raise DonorError(str(error), position) from None
            # Without what only a resume needs, such as a replay buffer.
            learned.append({name: state[name] for name in own if name in state})
        self.learner.inherit(fuse(learned) if len(learned) > 1 else learned[0])

    def _description(self, device: torch.device) -> str:
        plan, hp = self.plan, self.learner.hp
        start = "from scratch"
        if plan.resume_from:
            start = f"on from {self._env_steps:,} env steps"
        elif plan.inherit_from:
            whose = "its parent's" if len(plan.inherit_from) == 1 else f"the mean of {len(plan.inherit_from)} parents'"
            start = f"with {whose} weights, optimizer and normalisers"
        layers = " x ".join([str(hp.hidden_size)] * hp.num_layers) or "none"
        assert self._env is not None
        return (
            f"Training {plan.algorithm} on {plan.env_id} {start}: {self._env.num_envs} environments on {device}, "
            f"{plan.threads} thread{'s' if plan.threads > 1 else ''}, {self._filters()}hidden layers {layers}, "
            f"{hp.activation}."
        )

    def _filters(self) -> str:
        assert self._env is not None
        if self._env.image is None:
            return ""
        filters = ", ".join(
            f"{layer.outputs} {' x '.join(map(str, layer.kernel))}" for layer in layers_of(self._env.image)
        )
        return f"images {' x '.join(map(str, self._env.image.shape))}, filters {filters}, "

    # The round

    def _train(self) -> Iterator[PodMessage]:
        saved_at = reported_at = time.perf_counter()
        save_cost = 0.0
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
            if self._schedule.next_due(self._env_steps):
                self._begin_segment()
            remaining = self._schedule.remaining(self._env_steps, self._remaining())
            left = self._schedule.env_steps_left(self._env_steps, self._env_steps_left())
            self.watch.add(self.learner.iterate(remaining, left).returns)
            self._env_steps = self._schedule.start + self.learner.global_step
            now = time.perf_counter()
            if now - reported_at >= PROGRESS_INTERVAL:
                yield self._progress((self._env_steps - reported_steps) / (now - reported_at))
                yield from self._notes()
                reported_at, reported_steps = now, self._env_steps
            dear = SAVE_SHARE * save_cost if save_cost >= 1 else 0.0
            if now - saved_at >= max(self.plan.save_interval_seconds, dear):
                path = self._save()
                saved_at = time.perf_counter()
                save_cost = saved_at - now
                yield Saved(path, self._env_steps, self._seconds())
        if self._env_steps > reported_steps:
            elapsed = time.perf_counter() - reported_at
            yield self._progress((self._env_steps - reported_steps) / max(elapsed, 1e-9))
            yield from self._notes()
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

    def _env_steps_left(self) -> int | None:
        """In the round, which has some left; None where they are not counted."""
        return self.plan.env_steps - self._env_steps if self.plan.env_steps else None

    def _begin_segment(self) -> None:
        """The next one starts as an heir does: with what was learned, in fresh environments."""
        learned = self.learner.learned()
        self._schedule.advance(self._env_steps)
        self._build(resolve_device(self.plan.device))
        self.learner.inherit(learned)

    def _seconds(self) -> float:
        return self._seconds_before + time.perf_counter() - self._began

    def _notes(self) -> Iterator[Log]:
        """What the environments have to say, those of evaluations too."""
        assert self._env is not None
        assert self._scorer is not None
        return map(Log, (*self._env.notes(), *self._scorer.evaluator.notes()))

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

    def _look_for_target(self) -> Generator[PodMessage, None, PodResult | None]:
        """Evaluates in the middle of the round. Returns the result once a reached target is confirmed."""
        assert self._scorer is not None
        verdict = self._scorer.look(self.learner, self._env_steps)
        if verdict is None:
            return None
        yield Log(f"Evaluated after {self._env_steps:,} env steps: {verdict}.")
        yield from self._notes()
        if self._scorer.reached(verdict.confirmation):
            return self._finished(verdict)
        # An agent that passed the first look is close: the next one is due as soon as if all had ended there.
        self.watch.missed(self._env_steps, self._scorer.evaluator.cost(verdict.glance, self.plan.num_envs))
        return None

    # After

    def _end(self) -> Iterator[PodMessage]:
        assert self._scorer is not None
        if not self._interrupted():
            verdict = self._scorer.judge(self.learner, self._env_steps)
            if verdict:
                yield Log(f"The round ended after {self._env_steps:,} env steps: {verdict}.")
                yield from self._notes()
                yield self._finished(verdict)
                return
        if self._told is Directive.PAUSE:
            yield self._result(Outcome.PAUSED, state_path=self._save())
        else:
            checkpoint, state = self._write_agent(None, None), self._save()
            yield self._result(Outcome.STOPPED, checkpoint_path=checkpoint, state_path=state)

    def _finished(self, verdict: Verdict) -> PodResult:
        """Both evaluations together are the score: the second alone would be picked for its luck too."""
        evaluation, again = verdict.evaluation, verdict.again
        scored = pooled(evaluation, again, self.plan.score) if again else evaluation
        checkpoint, state = self._write_agent(scored, verdict.confirmation), self._save()
        return self._result(
            Outcome.FINISHED,
            evaluation=scored,
            confirmation=verdict.confirmation,
            screening=evaluation if again else None,
            checkpoint_path=checkpoint,
            state_path=state,
        )

    def _failed(self, reason: str, **how: Any) -> PodResult:
        return self._result(Outcome.FAILED, reason=reason, **how)

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
        assert self._scorer is not None
        path = Path(self.plan.directory) / STATE_NAME
        state = {
            "env_id": self.plan.env_id,
            **self._schedule.state(),
            "learner": self.learner.state(),
            "seconds": self._seconds(),
            "watch": self.watch.state(),
            **self._scorer.state(),
        }
        save_state(path, state)
        return str(path)

    def _load(self, state: State) -> None:
        if state["env_id"] != self.plan.env_id:
            raise CheckpointError(f"The saved state is of {state['env_id']}, the plan of {self.plan.env_id}.")
        self.learner.load_state(state["learner"])
        self.watch.load_state(state["watch"])
        self._env_steps = self._schedule.start + self.learner.global_step
        self._seconds_before = state["seconds"]
        assert self._scorer is not None
        self._scorer.load_state(state)
