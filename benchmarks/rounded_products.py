"""What rounding the factors of wide layers' products to bfloat16 saves and costs (podracer_core/agents/precision.py).

    python -m benchmarks.rounded_products speed --algorithms sac td3 redq --hidden-sizes 64 128 256
    python -m benchmarks.rounded_products errors --algorithms sac td3 --env-steps 5000
    python -m benchmarks.rounded_products returns --env HalfCheetah-v5 --algorithms sac --env-steps 20000 --seeds 1 2 3

speed: updates a second of CPU time on one thread, sampling included, in turns; medians. errors: of the critics' values
and of the networks' gradients on fresh minibatches, after training in float32. returns: of 20 episodes after equal env
steps, each seed with both, in turns; the means over seeds with their 95 % intervals. Needs a processor with AMX.
"""

import argparse
import statistics
import sys
import time
from typing import Any

import torch
from torch import Tensor

from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.precision import matmul_precision, multiplies_bfloat16_faster
from podracer_core.device import flush_denormals
from podracer_core.envs import catalogue
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.evaluator import Evaluator
from podracer_core.hyperparameters import complete
from podracer_core.tournament.statistics import summarise

CPU = torch.device("cpu")
EXACT, ROUNDED = "highest", "medium"
EPISODES, MINIBATCHES, ROUNDS = 20, 16, 5


@torch.inference_mode()  # as in a pod
def main() -> int:
    options = _parse()
    if not multiplies_bfloat16_faster():
        print("error: this processor has no AMX, so nothing is rounded here", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    flush_denormals()
    for algorithm in options.algorithms:
        {"speed": speed, "errors": errors, "returns": returns}[options.measurement](algorithm, options)
    return 0


def speed(algorithm: str, options: argparse.Namespace) -> None:
    for hidden_size in options.hidden_sizes:
        setting = {"hidden_size": hidden_size, "utd_ratio": 32, "learning_starts": 1_000}
        learners = {kind: make(options.env, algorithm, 1, kind, **setting) for kind in (EXACT, ROUNDED)}
        rates: dict[str, list[float]] = {kind: [] for kind in learners}
        for learner in learners.values():
            train(learner, 1_000)
        for _ in range(ROUNDS):
            for kind, learner in learners.items():
                began, first = time.process_time(), learner.global_step
                while time.process_time() - began < options.seconds:
                    learner.iterate(1.0)
                rates[kind].append(32 * (learner.global_step - first) / (time.process_time() - began))
        exact, rounded = (statistics.median(rates[kind]) for kind in (EXACT, ROUNDED))
        print(f"{algorithm:5} 2 x {hidden_size:<4} {exact:6,.0f}/s  rounded {rounded:6,.0f}/s", flush=True)


def errors(algorithm: str, options: argparse.Namespace) -> None:
    """Root mean squares of the differences over those of what they differ from."""
    every_update = {"policy_delay": 1} if algorithm in ("td3", "redq") else {}
    learner = make(options.env, algorithm, options.seeds[0], EXACT, **every_update)
    train(learner, options.env_steps)
    found: dict[str, list[float]] = {}
    for _ in range(MINIBATCHES):
        batch = learner.buffer.sample(learner.hp.batch_size, learner.hp.gamma, learner.hp.n_step, learner.generator)
        noise = torch.randn(len(batch.obs), learner.noise_dim, generator=learner.generator)
        exact, rounded = (looked_at(learner, batch, noise, kind) for kind in (EXACT, ROUNDED))
        for name, value in exact.items():
            if not value.any():
                continue  # an actor whose every action is at its bound
            error = (rounded[name] - value).square().mean().sqrt() / value.square().mean().sqrt()
            found.setdefault(name, []).append(float(error))
    told = "  ".join(f"{name} {statistics.median(values):.2%}" for name, values in found.items())
    print(f"{algorithm:5} after {options.env_steps:,} env steps of {options.env}: {told}", flush=True)


def looked_at(learner: Any, batch: Any, noise: Tensor, kind: str) -> dict[str, Tensor]:
    """What an update would see and do; the learner stays as it was."""
    learned, generator = learner.learned(), learner.generator.get_state()
    with matmul_precision(kind, CPU):
        values = learner.values(learner.critics, batch.obs, batch.action)
        learner.update(batch, noise)
    found = {"values": values, "their gradient": learner.critics.gradients.clone()}
    found["the actor's gradient"] = learner.optimizers["actor"].gradients.clone()
    learner.inherit(learned)
    learner.generator.set_state(generator)
    return found


def returns(algorithm: str, options: argparse.Namespace) -> None:
    scores: dict[str, list[float]] = {EXACT: [], ROUNDED: []}
    for seed in options.seeds:
        for kind in scores:
            began = time.process_time()
            learner = make(options.env, algorithm, seed, kind, hidden_size=256)
            train(learner, options.env_steps)
            spent = time.process_time() - began
            evaluation = Evaluator(options.env, CPU).evaluate(learner.act, EPISODES, seed)
            assert evaluation is not None
            scores[kind].append(evaluation.score)
            print(f"{algorithm:5} seed {seed} {kind:8} {evaluation.score:9.1f}  {spent:6.1f} s of CPU time", flush=True)
    for kind, values in scores.items():
        over = summarise(values, [0] * len(values))
        print(f"{algorithm:5} {kind:8} {over.score:9.1f} ({over.score_low:.1f} to {over.score_high:.1f})", flush=True)


def make(env_id: str, algorithm: str, seed: int, kind: str, **setting: Any) -> Any:
    tuned = catalogue.default_hyperparameters(env_id, algorithm)
    num_envs = 1 if "utd_ratio" in setting else catalogue.default_num_envs(env_id, algorithm)
    hyperparameters = complete(algorithm, tuned, setting, {"float32_matmul_precision": kind})
    return LEARNERS[algorithm](make_vector_env(env_id, num_envs, CPU), hyperparameters, seed)


def train(learner: Any, env_steps: int) -> None:
    while learner.global_step < env_steps:
        learner.iterate(1.0 - learner.global_step / env_steps)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", choices=["speed", "errors", "returns"])
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--algorithms", nargs="+", default=["sac", "td3"], choices=["ddpg", "td3", "sac", "redq"])
    parser.add_argument("--hidden-sizes", type=int, nargs="+", default=[64, 128, 256], help="of speed")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement of speed")
    parser.add_argument("--env-steps", type=int, default=10_000, help="of errors and returns")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of returns; the first of errors")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
