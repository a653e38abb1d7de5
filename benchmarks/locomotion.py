"""Stepping MuJoCo bodies alone by each backend, and training's env steps per second as a share of that.

    python -m benchmarks.locomotion
    python -m benchmarks.locomotion --envs Ant-v5 --threads 1 --seconds 3 --limit 0.8

Stepping, observations and rewards included, is under uniformly random actions; training is PPO with two hidden
layers of 64, and 2 epochs of 4 minibatches over 64 steps of each environment. Training is compared with stepping
along the course that training took: what a body does costs more or less to simulate. The backends are measured in
turns and medians are taken; envpool is measured where it is installed. Exits 1 when training on our backend is below
`--limit` of stepping.
"""

import argparse
import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from podracer_core.agents.ppo import PPO
from podracer_core.device import flush_denormals
from podracer_core.envs.catalogue import default_hyperparameters
from podracer_core.envs.locomotion import Locomotion
from podracer_core.envs.vector_env import Step
from podracer_core.hyperparameters import PPOHyperparameters

Advance = Callable[[], int]
"""Does some work and returns how many env steps that were."""


class Replay(Locomotion):
    """Remembers the actions it was given, so that the same course can be stepped again without a learner."""

    actions: list[torch.Tensor]

    def step(self, actions: torch.Tensor) -> Step:
        self.actions.append(actions)
        return super().step(actions)


@torch.inference_mode()  # as in a pod
def main() -> int:
    options = _parse()
    flush_denormals()
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.num_envs} environments, env steps/s")
    shares = []
    for env_id in options.envs:
        for threads in options.threads:
            torch.set_num_threads(threads)
            shares.append(_measure(env_id, threads, options))
    return 1 if options.limit and min(shares) < options.limit else 0


def _measure(env_id: str, threads: int, options: argparse.Namespace) -> float:
    """Prints a line; returns training's share of stepping."""
    stepping, environments = _steppers(env_id, options.num_envs, threads, options.gymnasium_async)
    rates: dict[str, list[float]] = {name: [] for name in stepping}
    for _ in range(options.rounds):
        for name, advance in stepping.items():
            rates[name].append(_rate(advance, options.seconds))
    for env in environments:
        env.close()
    pairs = [train_and_replay(env_id, threads, options.num_envs, options.seconds) for _ in range(options.rounds)]
    share = statistics.median(trained / replayed for trained, replayed in pairs)
    columns = [f"{name} {statistics.median(values):>7,.0f}" for name, values in rates.items()]
    trained, replayed = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"{env_id:15} {threads} thread{'s' if threads > 1 else ' '}  stepping: {'  '.join(columns)}   "
        f"PPO training {trained:>7,.0f} of {replayed:>7,.0f} stepped = {share:.0%}",
        flush=True,
    )
    return share


def _steppers(env_id: str, num_envs: int, threads: int, with_async: bool) -> tuple[dict[str, Advance], list[Any]]:
    """By name, what steps `num_envs` environments once; and what to close afterwards."""
    ours = Locomotion(env_id, num_envs)
    ours.reset(1)
    assert ours.action_high is not None
    high = ours.action_high.numpy()
    drawn = np.random.default_rng(1).uniform(-high, high, (64, num_envs, ours.action_dim)).astype(np.float32)
    tensors = torch.from_numpy(drawn)
    counter = iter(range(10**9))

    def once(step: Callable[[int], object]) -> Advance:
        def advance() -> int:
            step(next(counter) % len(drawn))
            return num_envs

        return advance

    others: dict[str, Any] = {"gymnasium sync": gymnasium.make_vec(env_id, num_envs, vectorization_mode="sync")}
    if with_async:
        others["gymnasium async"] = gymnasium.make_vec(
            env_id, num_envs, vectorization_mode="async", vector_kwargs={"context": "spawn"}
        )
    if importlib.util.find_spec("envpool"):
        import envpool

        others["envpool"] = envpool.make_gymnasium(env_id, num_envs=num_envs, num_threads=threads, seed=1)
    steppers = {"ours": once(lambda i: ours.step(tensors[i]))}
    for name, env in others.items():
        env.reset()
        steppers[name] = once(lambda i, env=env: env.step(drawn[i]))  # type: ignore[misc]
    return steppers, [ours, *others.values()]


def train_and_replay(env_id: str, threads: int, num_envs: int, seconds: float) -> tuple[float, float]:
    """Env steps per second of training, and of stepping alone along the same course."""
    tuned = default_hyperparameters(env_id, "ppo")
    setting = {"hidden_size": 64, "num_layers": 2, "num_steps": 64, "num_epochs": 2, "num_minibatches": 4}
    env = Replay(env_id, num_envs, threads=threads)
    env.actions = []
    learner = PPO(env, PPOHyperparameters.model_validate({**tuned, **setting}), seed=1)
    learner.iterate(1.0)  # warm
    start = env.state()
    env.actions = []

    def iterate() -> int:
        before = learner.global_step
        learner.iterate(1.0)
        return learner.global_step - before

    trained = _rate(iterate, seconds)
    env.load_state(start)
    course = iter(list(env.actions))

    def step() -> int:
        Locomotion.step(env, next(course))
        return env.num_envs

    replayed = _rate(step, float("inf"), times=len(env.actions))
    env.close()
    return trained, replayed


def _rate(advance: Advance, seconds: float, times: int = 10**9) -> float:
    """Env steps per second over about `seconds`, or over `times` calls where that is less."""
    began, steps = time.perf_counter(), 0
    for _ in range(times):
        steps += advance()
        if time.perf_counter() - began > seconds:
            break
    return steps / (time.perf_counter() - began)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="+", default=["HalfCheetah-v5", "Ant-v5", "Humanoid-v5"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each kind")
    parser.add_argument("--gymnasium-async", action="store_true", help="a process for each environment, too")
    parser.add_argument("--limit", type=float, help="share of stepping that training has to reach")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
