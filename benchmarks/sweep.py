"""Which hyperparameters reach a target score on every seed, and with how little CPU time: where our defaults come from.

    python -m benchmarks.sweep --env LunarLander-v3 --target-score 200 --seeds 1 2 3 4 5 --cap 120 \\
        --set num_envs=16,32,64 --set learning_rate=1e-3,3e-3
    python -m benchmarks.sweep --env HalfCheetah-v5 --env-steps 1000000 --seeds 1 2 3 --set num_epochs=10,20

Every combination of the values named is laid over the catalogue's defaults and trained in this process, one thread,
once a seed; `num_envs` is one of the names. `--random N` draws N of the combinations instead. CPU time is that of
this process and of those it started, so that a busy machine does not distort it; a run that needs more than `--cap`
seconds of it missed. Without a target all train as many env steps, and the best mean score comes first. What the runs
gave goes to `--out` as JSON lines, the table to the terminal, best first.
"""

import argparse
import itertools
import json
import math
import random
import resource
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import ValidationError

from podracer_core.device import flush_denormals
from podracer_core.envs import catalogue, known
from podracer_core.errors import PodracerError, SpecError
from podracer_core.hyperparameters import ALGORITHMS, algorithm_problem, batch_problem, complete
from podracer_core.pod import Pod
from podracer_core.progress import Directive, PodResult
from podracer_core.sentences import sentence
from podracer_core.spec import PodPlan

Setting = dict[str, str]
"""What is laid over the defaults, by name, as written on the command line."""


@dataclass(frozen=True)
class Run:
    """One seed of one setting. `cpu_seconds`: of training and evaluating, imports left out."""

    seed: int
    reached: bool
    env_steps: int
    cpu_seconds: float
    score: float | None
    reason: str = ""


def main() -> int:
    options = _parse()
    flush_denormals(True)
    results: list[tuple[Setting, list[Run]]] = []
    settings = _settings(options)
    try:
        plans = [_plan(options, setting) for setting in settings]
    except PodracerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for setting, plan in zip(settings, plans, strict=True):
        runs = _runs(options, setting, plan)
        results.append((setting, runs))
        print(_row(setting, runs), flush=True)
    aim = "after equal env steps" if options.target_score is None else f"to {options.target_score:g}"
    print(f"\n{options.env}, {options.algorithm}, {aim}; best first\n\n{_table(results)}")
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", required=True)
    parser.add_argument("--algorithm", default="ppo", choices=ALGORITHMS)
    parser.add_argument("--target-score", type=float, help="else all train as many env steps")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--set", action="append", default=[], type=_values, metavar="NAME=VALUE[,VALUE...]")
    parser.add_argument("--random", type=int, metavar="N", help="try N combinations, drawn without replacement")
    parser.add_argument("--draw-seed", type=int, default=0, help="what --random draws with")
    parser.add_argument("--cap", type=float, default=120.0, help="CPU seconds after which a run missed")
    parser.add_argument("--env-steps", type=int, help="bound of a run, else the catalogue's")
    parser.add_argument("--misses", type=int, help="leave a setting after so many missed seeds")
    parser.add_argument("--out", type=Path, help="a file to append one JSON line a run to")
    return parser.parse_args()


def _values(text: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE[,VALUE...], such as num_envs=8,16")
    return name.strip(), [value.strip() for value in values.split(",")]


def _settings(options: argparse.Namespace) -> list[Setting]:
    names = [name for name, _ in options.set]
    grid = [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*(v for _, v in options.set))]
    if options.random is None or options.random >= len(grid):
        return grid
    return random.Random(options.draw_seed).sample(grid, options.random)


def _plan(options: argparse.Namespace, setting: Setting) -> PodPlan:
    """Raises where a value does not hold, before anything has run."""
    env_id, algorithm = options.env, options.algorithm
    entry = known.environment_check(env_id)
    given = {name: value for name, value in setting.items() if name != "num_envs"}
    num_envs = setting.get("num_envs", str(catalogue.default_num_envs(env_id, algorithm)))
    if not num_envs.isdecimal() or not 1 <= int(num_envs) <= 65_536:
        raise SpecError([("num_envs", f"is a whole number from 1 to 65536, got {num_envs!r}")])
    try:
        tuned = catalogue.default_hyperparameters(env_id, algorithm)
        hyperparameters = complete(algorithm, tuned, given).model_dump()
    except ValidationError as error:
        raise SpecError([(str(part["loc"][0]), sentence(part)) for part in error.errors()]) from None
    problem = batch_problem(hyperparameters, int(num_envs))
    misfit = algorithm_problem(algorithm, entry.action_kind)
    if problem or misfit:
        raise SpecError([problem or ("algorithm", misfit or "")])
    return PodPlan(
        env_id=env_id,
        algorithm=algorithm,
        hyperparameters=hyperparameters,
        seed=0,
        num_envs=int(num_envs),
        env_steps=options.env_steps or entry.default_env_steps,
        target_score=options.target_score,
        directory=tempfile.gettempdir(),
    )


def _runs(options: argparse.Namespace, setting: Setting, plan: PodPlan) -> list[Run]:
    runs: list[Run] = []
    for seed in options.seeds:
        runs.append(_run(plan, seed, options.cap))
        if runs[-1].reason:
            print(f"seed {seed}, {_text(setting)}: {runs[-1].reason}", file=sys.stderr)
        if options.out:
            record = plan.model_dump(include={"env_id", "algorithm", "target_score", "num_envs", "hyperparameters"})
            with options.out.open("a") as file:
                file.write(json.dumps(record | asdict(runs[-1]), allow_nan=False) + "\n")
        if options.misses and sum(not run.reached for run in runs) >= options.misses:
            break
    return runs


def _run(plan: PodPlan, seed: int, cap: float) -> Run:
    began = _cpu_seconds()

    def directive() -> Directive:
        return Directive.STOP if _cpu_seconds() - began > cap else Directive.CONTINUE

    with tempfile.TemporaryDirectory(prefix="podracer-sweep-") as directory:
        *_, result = Pod(plan.model_copy(update={"seed": seed, "directory": directory}), directive).run()
    assert isinstance(result, PodResult)
    scored = result.confirmation or result.evaluation
    target, confirmed = plan.target_score, result.confirmation
    reached = target is not None and confirmed is not None and confirmed.score >= target
    score = scored.score if scored else None
    return Run(seed, reached, result.env_steps, round(_cpu_seconds() - began, 2), score, result.reason)


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _table(results: Sequence[tuple[Setting, list[Run]]]) -> str:
    """Those that reached most often first, among them those with the least CPU time; where none did, the best."""

    def rank(result: tuple[Setting, list[Run]]) -> tuple[float, float, float]:
        _, runs = result
        reached = sum(run.reached for run in runs)
        score = 0.0 if reached else -_mean_score(runs)
        return -reached, score, statistics.median(run.cpu_seconds for run in runs)

    head = "reached    env steps: median      worst    CPU s: median    worst  mean score     least  setting"
    return "\n".join([head, *(_row(*result) for result in sorted(results, key=rank))])


def _row(setting: Setting, runs: list[Run]) -> str:
    steps, seconds = [run.env_steps for run in runs], [run.cpu_seconds for run in runs]
    reached = f"{sum(run.reached for run in runs)} of {len(runs)}"
    return (
        f"{reached:<10} {statistics.median(steps):>17,.0f} {max(steps):>10,} "
        f"{statistics.median(seconds):>16.2f} {max(seconds):>8.2f} {_mean_score(runs):>11.1f} "
        f"{min(_scores(runs)):>9.1f}  {_text(setting)}"
    )


def _mean_score(runs: list[Run]) -> float:
    return statistics.fmean(_scores(runs))


def _scores(runs: list[Run]) -> list[float]:
    """One that diverged counts as the worst there can be."""
    return [-math.inf if run.score is None else run.score for run in runs]


def _text(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items()) or "the catalogue's defaults"


if __name__ == "__main__":
    sys.exit(main())
