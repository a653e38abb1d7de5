"""python -m podracer_core: train, evaluate, film and export an agent, run a tournament; no web, no database.

torch is loaded only by `train` and `export`, once their arguments hold.
"""

import argparse
import json
import math
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from podracer_core.envs import catalogue
from podracer_core.errors import EnvironmentCrashedError, PodracerError, RenderError
from podracer_core.hyperparameters import (
    ALGORITHMS,
    Hyperparameters,
    Value,
    algorithm_problem,
    batch_problem,
    complete,
    observation_problem,
)
from podracer_core.limits import most_threads
from podracer_core.local import command as local
from podracer_core.progress import Directive, Evaluation, Log, Outcome, PodResult, Progress
from podracer_core.sentences import sentence
from podracer_core.spec import PodPlan

NOT_BUILT_COMMANDS = ("play",)
AVAILABLE = "train, evaluate, export, tournament, envs"
BAD_INPUT, FAILED = 2, 1
WHICH = ("first", "best", "median", "worst")


class CommandError(PodracerError):
    """What was asked for cannot be done; the text is for the person at the terminal."""


class _Parser(argparse.ArgumentParser):
    """Answers a wrong argument in one sentence."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message[0].upper()}{message[1:]}; see {self.prog} --help.")


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, 1 when training failed, 2 for input that does not hold."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments and arguments[0] in NOT_BUILT_COMMANDS:
            raise CommandError(f"The command {arguments[0]!r} is not built yet; available: {AVAILABLE}.")
        options = _parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    except PodracerError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED if isinstance(error, EnvironmentCrashedError | RenderError) else BAD_INPUT
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m podracer_core", description="Train and play deep-RL agents.")
    commands = parser.add_subparsers(required=True, metavar="{train,evaluate,export,tournament,envs}")
    train = commands.add_parser("train", help="train one agent")
    train.set_defaults(command=_train)
    train.add_argument("--env", required=True, help="environment id, for example CartPole-v1")
    train.add_argument("--algorithm", default="ppo", help=", ".join(ALGORITHMS))
    train.add_argument("--target-score", type=_number, help="end early once 100 further episodes confirm it")
    train.add_argument("--seed", type=_natural, default=1)
    train.add_argument("--out", type=Path, help="where to write the best agent, a .safetensors file")
    train.add_argument("--json", action="store_true", help="one JSON line on stdout, nothing else")
    train.add_argument("--env-steps", type=_positive, help="bound of the training, else the catalogue's")
    train.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a hyperparameter")
    train.add_argument("--num-envs", type=_positive, help="environments stepped at once")
    train.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    train.add_argument("--compile", action="store_true", help="compile the update, which eager is as fast as on a CPU")
    train.add_argument("--threads", type=_positive, default=1, help="CPU threads")
    evaluate = commands.add_parser("evaluate", help="play an agent in the real Gymnasium environment")
    evaluate.set_defaults(command=_evaluate)
    evaluate.add_argument("agent", type=Path, help="a .safetensors file")
    evaluate.add_argument("--episodes", type=_positive, default=100)
    evaluate.add_argument("--seed", type=_natural, default=1)
    evaluate.add_argument("--json", action="store_true")
    evaluate.add_argument("--render", type=Path, metavar="VIDEO", help="write an episode to an .mp4 or a .gif")
    evaluate.add_argument("--render-episode", choices=WHICH, default="first", help="which one, by its return")
    export = commands.add_parser("export", help="write an agent for another runtime")
    export.set_defaults(command=_export)
    export.add_argument("agent", type=Path, help="a .safetensors file")
    export.add_argument("--format", required=True, choices=("torchscript", "onnx"))
    export.add_argument("--out", required=True, type=Path, help="the file to write")
    export.add_argument("--json", action="store_true")
    tournament = commands.add_parser("tournament", help="run a whole tournament on this machine's cores, no server")
    tournament.set_defaults(command=_tournament)
    local.add_arguments(tournament, _positive)
    envs = commands.add_parser("envs", help="list the environments of the catalogue")
    envs.set_defaults(command=_envs)
    envs.add_argument("--json", action="store_true")
    return parser


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def _natural(text: str) -> int:
    return _whole(text, 0)


def _positive(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value < 2**53:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} up")
    return value


# train


def _train(options: argparse.Namespace) -> int:
    if options.out:
        _check_writable(options.out)
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
        _tell(_sentence(summary, options.out))
    print(json.dumps(summary, allow_nan=False), flush=True)
    return 0


def _plan(options: argparse.Namespace, directory: str) -> PodPlan:
    """Checks every argument; what it returns holds."""
    entry = catalogue.environment_check(options.env)
    target = options.target_score
    if target is not None and entry.max_score is not None and target > entry.max_score:
        raise CommandError(f"--target-score {target:g} can never be met: {entry.id} gives at most {entry.max_score:g}.")
    hyperparameters = _hyperparameters(options.algorithm, entry, options.set)
    misfit = algorithm_problem(options.algorithm, entry.action_kind)
    if misfit:
        raise CommandError(f"The algorithm {misfit}.")
    space = entry.observation_space
    blind = observation_problem(options.algorithm, hyperparameters.model_dump(), kind=space.kind, image=space.is_image)
    if blind:
        raise CommandError(f"{blind[0] or 'The algorithm'} {blind[1]}.")
    num_envs = options.num_envs or catalogue.default_num_envs(entry.id, options.algorithm)
    if num_envs > 65_536:
        raise CommandError(f"--num-envs {num_envs} is too many; at most 65536.")
    _check_threads(options.threads)
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


def _check_threads(threads: int) -> None:
    if threads > most_threads():
        raise CommandError(f"--threads {threads} is too many for this machine; at most {most_threads()}.")


def _hyperparameters(algorithm: str, entry: catalogue.CatalogueEntry, assignments: list[str]) -> Hyperparameters:
    """The environment's tuned values with `NAME=VALUE` assignments on top."""
    if algorithm not in ALGORITHMS:
        raise CommandError(f"Unknown algorithm {algorithm!r}; available: {', '.join(ALGORITHMS)}.")
    given: dict[str, Value] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise CommandError(f"--set takes NAME=VALUE, such as learning_rate=3e-4; got {assignment!r}.")
        given[name.strip()] = value.strip()
    try:
        tuned = catalogue.default_hyperparameters(entry.id, algorithm) | catalogue.image_hyperparameters(
            entry, algorithm
        )
        return complete(algorithm, tuned, given)
    except ValidationError as error:
        raise CommandError(_hyperparameter_problem(algorithm, error.errors()[0])) from None


def _hyperparameter_problem(algorithm: str, detail: Any) -> str:
    name = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = ", ".join(ALGORITHMS[algorithm].model_fields)
        return f"{algorithm} has no hyperparameter {name!r}; it has {known}."
    return f"{name}={detail['input']}: {sentence(detail)}."


def _check_writable(out: Path, option: str = "--out") -> None:
    """Tries now, rather than after the work."""
    if out.is_dir():
        raise CommandError(f"{option} {out} is a folder; name a file, such as {out / 'agent.safetensors'}.")
    try:
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=f".{out.name[:40]}."):
            pass
        if out.exists() and not os.access(out, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise CommandError(f"{option} {out} cannot be written: {error.strerror}.") from None


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
                _tell(message.text)
            elif isinstance(message, Progress) and message.seconds - shown_at >= 1.0:
                shown_at = message.seconds
                _tell(_progress_line(message))
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


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# evaluate


def _evaluate(options: argparse.Namespace) -> int:
    """Plays whole episodes one after another in the environment that gymnasium.make gives."""
    from podracer_core.checkpoint import load_agent
    from podracer_core.playing import play_episodes
    from podracer_core.tournament.statistics import summarise

    if options.render:
        _check_video(options.render)
    agent = load_agent(options.agent)
    catalogue.environment_check(agent.env_id)
    episodes = play_episodes(agent, options.episodes, options.seed)
    returns, lengths = [one.episodic_return for one in episodes], [one.length for one in episodes]
    evaluation = summarise(returns, lengths, "mean", seed=options.seed)
    answer: dict[str, Any] = {"env_id": agent.env_id, "episodes": evaluation.episodes}
    answer |= {name: getattr(evaluation, name) for name in ("score", "score_low", "score_high")}
    answer["episode_length"] = sum(lengths) / len(lengths)
    if options.render:
        answer["render"] = _render(agent, episodes, options)
    if options.json:
        print(json.dumps(answer, allow_nan=False))
    else:
        print(
            f"{agent.env_id}: score {evaluation.score:.1f} ({evaluation.score_low:.1f} to "
            f"{evaluation.score_high:.1f}) over {evaluation.episodes} episodes of "
            f"{answer['episode_length']:.1f} steps."
        )
    return 0


def _check_video(path: Path) -> None:
    if path.suffix not in (".mp4", ".gif"):
        raise CommandError(f"--render {path} is neither an .mp4 nor a .gif.")
    _check_writable(path, "--render")


def _render(agent: Any, episodes: list[Any], options: argparse.Namespace) -> dict[str, Any]:
    """Writes the episode asked for as a video; returns what there is to say of it."""
    from podracer_core.render import choose_episode, render_episode

    rendering = render_episode(agent, choose_episode(episodes, options.render_episode), options.render)
    if not options.json:
        _tell(
            f"The {options.render_episode} episode (seed {rendering.seed}, return {rendering.episodic_return:g}, "
            f"{rendering.length} steps) is in {options.render}."
        )
    return rendering._asdict()


# export


def _export(options: argparse.Namespace) -> int:
    from podracer_core.checkpoint import load_agent
    from podracer_core.export import export_agent

    _check_writable(options.out)
    answer = export_agent(load_agent(options.agent), options.format, options.out)
    if options.json:
        print(json.dumps(answer, allow_nan=False))
    else:
        print(
            f"{options.out}: {answer['size']:,} bytes of {options.format}, equal to the agent on "
            f"{answer['observations']} observations (largest difference {answer['max_difference']:.2g})."
        )
    return 0


# tournament


def _tournament(options: argparse.Namespace) -> int:
    _check_threads(options.threads)
    return local.run(options)


# envs


def _envs(options: argparse.Namespace) -> int:
    entries = catalogue.catalogue_list()
    if options.json:
        print(json.dumps([entry.model_dump(mode="json") for entry in entries], allow_nan=False))
        return 0
    rows = [("id", "observations", "actions", "max steps", "solved at", "backends")]
    for entry in entries:
        solved = "" if entry.solved_score is None else f"{entry.solved_score:g}"
        spaces = entry.observation_space.text, entry.action_space.text
        rows.append((entry.id, *spaces, str(entry.max_episode_steps or ""), solved, ", ".join(entry.backends)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
