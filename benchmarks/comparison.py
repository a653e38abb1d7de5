"""CPU seconds that the statistics of one comparison take: `python -m benchmarks.comparison`.

The most that the page compares: ten groups of twenty agents with 64 evaluation episodes each, every group different.
CPU time, so that what else the machine does counts little.
"""

import time
from itertools import combinations

import numpy as np

from podracer_core.tournament import comparison

GROUPS, AGENTS, EPISODES = 10, 20, 64


def main() -> None:
    rng, began = np.random.default_rng(0), time.process_time()

    def lap(what: str) -> None:
        nonlocal began
        print(f"{what:28} {time.process_time() - began:6.2f} s")
        began = time.process_time()

    returns = [[rng.normal(group, 1, EPISODES).tolist() for _ in range(AGENTS)] for group in range(GROUPS)]
    lap("returns made up")
    groups = [comparison.sample(part, seed=seed) for seed, part in enumerate(returns)]
    lap("bootstrap samples")
    for seed, part in enumerate(returns):
        comparison.sample(part, runs=[agent % 5 for agent in range(AGENTS)], seed=seed)
    lap("the same of repetitions")
    for group in groups:
        comparison.iqm(group)
    lap("interquartile means")
    thresholds = comparison.thresholds(groups)
    for group in groups:
        comparison.profile(group, thresholds)
    lap("performance profiles")
    for first, second in combinations(groups, 2):
        comparison.probability_of_improvement(first, second)
    lap("probabilities of improvement")


if __name__ == "__main__":
    main()
