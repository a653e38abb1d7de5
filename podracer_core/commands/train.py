"""`train`: one agent, in this process."""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from podracer_core.commands.common import (
    FAILED,
    CommandError,
    check_threads,
    check_writable,
    natural,
    number,
    positive,
    tell,
)
from podracer_core.envs import catalogue, known
from podracer_core.hyperparameters import (
    ALGORITHMS,
    Hyperparameters,
    Value,
    algorithm_problem,
    batch_problem,
    complete,
    observation_problem,
)
from podracer_core.progress import Directive, Evaluation, Log, Outcome, PodResult, Progress
from podracer_core.sentences import sentence
from podracer_core.spec import PodPlan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, help="environment id, for example CartPole-v1")
    parser.add_argument("--algorithm", default="ppo", help=", ".join(ALGORITHMS))
    parser.add_argument("--target-score", type=number, help="end early once 100 further episodes confirm it")
    parser.add_argument("--seed", type=natural, default=1)
    parser.add_argument("--out", type=Path, help="where to write the best agent, a .safetensors file")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout, nothing else")
    parser.add_argument("--env-steps", type=positive, help="bound of the training, else the catalogue's")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a hyperparameter")
    parser.add_argument("--num-envs", type=positive, help="environments stepped at once")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--compile", action="store_true", help="compile the update, which eager is as fast as on a CPU")
    parser.add_argument("--threads", type=positive, default=1, help="CPU threads")


def run(options: argparse.Namespace) -> int:
    if options.out:
        check_writable(options.out)
    with tempfile.TemporaryDirectory(prefix="podracer-") as directory:
        plan = _plan(options, directory)
        result = _run(plan, quiet=options.json)
        if result.outcome is not Outcome.FINISHED:
            print(f"error: {result.reason}", file=sys.stderr)
            return FAILED
        assert result.checkpoint_path is not None
        if options.out:
            _copy(result.checkpoint_path, options.out)
    summary = _summary(plan, result)
    if not options.json:
        tell(_sentence(summary, options.out))
    print(json.dumps(summary, allow_nan=False), flush=True)
    return 0


def _plan(options: argparse.Namespace, directory: str) -> PodPlan:
    """Checks every argument; what it returns holds."""
    entry = known.environment_check(options.env)
    target = options.target_score
    if target is not None and entry.max_score is not None and target > entry.max_score:
        raise CommandError(f"--target-score {target:g} can never be met: {entry.id} gives at most {entry.max_score:g}.")
    hyperparameters = _hyperparameters(options.algorithm, entry, options.set, free=options.num_envs is None)
    misfit = algorithm_problem(options.algorithm, entry.action_kind)
    if misfit:
        raise CommandError(f"The algorithm {misfit}.")
    space = entry.observation_space
    blind = observation_problem(options.algorithm, hyperparameters.model_dump(), kind=space.kind, image=space.is_image)
    if blind:
        raise CommandError(f"{blind[0] or 'The algorithm'} {blind[1]}.")
    num_envs = options.num_envs or catalogue.suited_num_envs(entry, options.algorithm)
    if num_envs > 65_536:
        raise CommandError(f"--num-envs {num_envs} is too many; at most 65536.")
    check_threads(options.threads)
    problem = batch_problem(hyperparameters.model_dump(), num_envs)
    if problem:
        raise CommandError(f"{problem[1][0].upper()}{problem[1][1:]}.")
    from podracer_core.device import resolve_device

    return PodPlan(
        env_id=entry.id,
        algorithm=options.algorithm,
        hyperparameters=hyperparameters.model_dump(),
        seed=options.seed,
        num_envs=num_envs,
        device=str(resolve_device(options.device)),
        threads=options.threads,
        compile=options.compile,
        env_steps=options.env_steps or entry.default_env_steps,
        eval_episodes=32 if target is not None else 100,
        target_score=target,
        directory=directory,
    )


def _hyperparameters(
    algorithm: str, entry: catalogue.CatalogueEntry, assignments: list[str], *, free: bool
) -> Hyperparameters:
    """The environment's tuned values with `NAME=VALUE` assignments on top.

    free: whether the number of environments is left to us
    """
    if algorithm not in ALGORITHMS:
        raise CommandError(f"Unknown algorithm {algorithm!r}; available: {', '.join(ALGORITHMS)}.")
    given: dict[str, Value] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise CommandError(f"--set takes NAME=VALUE, such as learning_rate=3e-4; got {assignment!r}.")
        given[name.strip()] = value.strip()
    try:
        tuned = catalogue.default_hyperparameters(entry.id, algorithm)
        measured = catalogue.measured_hyperparameters(entry, algorithm) if free else {}
        return complete(algorithm, tuned, measured, catalogue.image_hyperparameters(entry, algorithm), given)
    except ValidationError as error:
        raise CommandError(_hyperparameter_problem(algorithm, error.errors()[0])) from None


def _hyperparameter_problem(algorithm: str, detail: Any) -> str:
    name = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = ", ".join(ALGORITHMS[algorithm].model_fields)
        return f"{algorithm} has no hyperparameter {name!r}; it has {known}."
    return f"{name}={detail['input']}: {sentence(detail)}."


def _copy(checkpoint: str, out: Path) -> None:
    from podracer_core.files import write_atomically

    try:
        write_atomically(out, Path(checkpoint).read_bytes())
    except OSError as error:
        raise CommandError(f"--out {out} cannot be written: {error.strerror}.") from None


def _run(plan: PodPlan, *, quiet: bool) -> PodResult:
    """Trains in this process. The first Ctrl-C ends the round, evaluated; the second ends the program."""
    from podracer_core.device import flush_denormals
    from podracer_core.pod import Pod

    flush_denormals(True)
    told = [Directive.CONTINUE]

    def end_round(signum: int, frame: Any) -> None:
        told[0] = Directive.END
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, end_round)
    try:
        shown_at = 0.0
        for message in Pod(plan, lambda: told[0]).run():
            if isinstance(message, PodResult):
                return message
            if quiet:
                continue
            if isinstance(message, Log):
                tell(message.text)
            elif isinstance(message, Progress) and message.seconds - shown_at >= 1.0:
                shown_at = message.seconds
                tell(_progress_line(message))
    finally:
        signal.signal(signal.SIGINT, previous)
        flush_denormals(False)
    raise AssertionError("a pod ends with its result")


def _progress_line(progress: Progress) -> str:
    recent = "" if progress.episodic_return is None else f"  return {progress.episodic_return:9.1f}"
    return (
        f"{progress.seconds:7.1f} s  {progress.env_steps:>11,} env steps  "
        f"{progress.env_steps_per_second:>9,.0f}/s{recent}"
    )


def _summary(plan: PodPlan, result: PodResult) -> dict[str, Any]:
    """The final JSON line. A run for a target reports the episodes that confirm it, where there were any."""
    scored = result.confirmation or result.evaluation
    assert scored is not None
    reached = plan.target_score is not None and all(
        evaluation is not None and evaluation.score >= plan.target_score
        for evaluation in (result.evaluation, result.confirmation)
    )
    return {
        "env_id": plan.env_id,
        "algorithm": plan.algorithm,
        "seed": plan.seed,
        "env_steps": result.env_steps,
        "seconds": round(result.seconds, 3),
        "env_steps_per_second": round(result.env_steps / result.seconds, 1),
        **_score(scored),
        "reached_target": reached,
    }


def _score(evaluation: Evaluation) -> dict[str, Any]:
    return {name: getattr(evaluation, name) for name in ("score", "score_low", "score_high", "episodes")}


def _sentence(summary: dict[str, Any], out: Path | None) -> str:
    text = (
        f"Score {summary['score']:.1f} ({summary['score_low']:.1f} to {summary['score_high']:.1f}) over "
        f"{summary['episodes']} episodes after {summary['env_steps']:,} env steps in {summary['seconds']:.1f} s."
    )
    return f"{text} Written to {out}." if out else text
