"""Trains to a target score by the command line, seed after seed, and holds the median to a limit.

    python -m benchmarks.train_to_target --env CartPole-v1 --target-score 475 --limit 10
    python -m benchmarks.train_to_target --env Pendulum-v1 --target-score -200 --limit 45

Exits 1 when a seed misses its target or the median of the training seconds exceeds the limit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any


def main() -> int:
    options = _parse()
    runs = []
    for seed in options.seeds:
        run = _train(options, seed)
        print(
            f"seed {seed}: {run['seconds']:6.2f} s  {run['env_steps']:>9,} env steps  "
            f"{run['env_steps_per_second']:>9,.0f}/s  score {run['score']:8.1f} over {run['episodes']} episodes  "
            f"{'reached' if run['reached_target'] else 'MISSED'}",
            flush=True,
        )
        runs.append(run)
    seconds = [run["seconds"] for run in runs]
    missed = sum(not run["reached_target"] for run in runs)
    median = statistics.median(seconds)
    print(
        f"{options.env} to {options.target_score:g}: median {median:.2f} s of {len(runs)} seeds "
        f"({min(seconds):.2f} to {max(seconds):.2f}), {missed} missed; {os.cpu_count()} cores, "
        f"{options.threads} thread, load {os.getloadavg()[0]:.1f}"
    )
    too_slow = options.limit is not None and median > options.limit
    if too_slow:
        print(f"the limit is {options.limit:g} s", file=sys.stderr)
    return 1 if missed or too_slow else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--algorithm", default="ppo")
    parser.add_argument("--target-score", type=float, default=475.0)
    parser.add_argument("--limit", type=float, help="seconds that the median may take")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


def _train(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "podracer_core", "train", "--json", f"--seed={seed}"]
    command += [f"--env={options.env}", f"--algorithm={options.algorithm}", f"--target-score={options.target_score}"]
    command += [f"--threads={options.threads}", f"--device={options.device}"]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return result


if __name__ == "__main__":
    sys.exit(main())
