"""The compiled update against its eager twin, in updates a second of CPU time on one thread, and how long it takes to
compile: the first time in a process, and again for an agent with other hyperparameters.

    python -m benchmarks.compiled_update --rows 64 256 1024 4096 --warm-limit 3

Measured in turns; medians. Exits 1 where compiling anew takes longer than `--warm-limit` seconds, or where the default,
which is eager, is slower than compiled by more than `--slower` for minibatches of 256 rows or more.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from podracer_core.agents.compilation import compiled
from podracer_core.agents.ppo import PPO, Batch
from podracer_core.agents.sac import SAC
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.hyperparameters import PPOHyperparameters, SACHyperparameters

FEWEST_ROWS = 256

Update = Callable[[], Any]


def main() -> int:
    options = _parse()
    torch.set_num_threads(1)
    held = True
    with torch.inference_mode():  # as in a pod
        for rows in options.rows:
            held &= _compare(f"ppo, {rows:>4} rows of HalfCheetah-v5, 2 x 64", partial(_ppo, rows), options, rows)
        held &= _compare("sac,  256 rows of Pendulum-v1, 2 x 256", _sac, options, 256)
    return 0 if held else 1


def _compare(
    name: str, build: Callable[[float], tuple[Update, Update]], options: argparse.Namespace, rows: int
) -> bool:
    """Prints a line; whether the limits hold."""
    eager, fused = build(0.2)
    first = _seconds(fused)
    _seconds(fused)  # it counts its updates, which the compiler learns at the second one
    rates: dict[str, list[float]] = {"eager": [], "compiled": []}
    for _ in range(options.rounds):
        for kind, update in (("eager", eager), ("compiled", fused)):
            rates[kind].append(_rate(update, options.seconds))
    again = _seconds(build(0.3)[1])
    medians = {kind: statistics.median(values) for kind, values in rates.items()}
    ratio = medians["eager"] / medians["compiled"]
    print(
        f"{name:40} eager {medians['eager']:>6,.0f}/s  compiled {medians['compiled']:>6,.0f}/s  eager/compiled "
        f"{ratio:.2f}  compiling {first:.1f} s, other hyperparameters {again:.1f} s",
        flush=True,
    )
    return again <= options.warm_limit and (rows < FEWEST_ROWS or ratio >= 1 - options.slower)


def _ppo(rows: int, setting: float) -> tuple[Update, Update]:
    """An eager and a compiled update of the same minibatch; `setting`: of a hyperparameter that the code contains."""
    updates = []
    for function in (PPO.descend, compiled(PPO.descend)):
        env = make_vector_env("HalfCheetah-v5", 8)
        hyperparameters = PPOHyperparameters(num_steps=8, num_minibatches=1, clip_coef=setting)
        learner = PPO(env, hyperparameters, 1)
        batch = learner.returns(learner.rollout())
        minibatch = Batch(*(column.repeat(rows // 64, *[1] * (column.dim() - 1)) for column in batch))
        updates.append(partial(function, learner, minibatch))
    return updates[0], updates[1]


def _sac(setting: float) -> tuple[Update, Update]:
    updates = []
    for function in (SAC.update, compiled(SAC.update)):
        env = make_vector_env("Pendulum-v1", 4)
        learner = SAC(env, SACHyperparameters(learning_starts=10**6, tau=setting), 1)
        for _ in range(8):
            learner.iterate(1.0)
        minibatch = learner.buffer.sample(256, 0.99, 1, learner.generator)
        updates.append(partial(function, learner, minibatch, torch.randn(256, learner.noise_dim)))
    return updates[0], updates[1]


def _seconds(update: Update) -> float:
    began = time.perf_counter()
    update()
    return time.perf_counter() - began


def _rate(update: Update, seconds: float) -> float:
    """Updates a second of CPU time, over about `seconds` of it."""
    began, count = time.process_time(), 0
    while time.process_time() - began < seconds:
        for _ in range(10):
            update()
        count += 10
    return count / (time.process_time() - began)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[64, 256, 1024, 4096])
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each kind")
    parser.add_argument("--warm-limit", type=float, default=3.0, help="seconds")
    parser.add_argument("--slower", type=float, default=0.1, help="share by which the default may be slower")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
