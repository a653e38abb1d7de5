"""The smallest of everything that may be set: one environment, one step, one sample a batch."""

import math

import pytest
import torch

from podracer_core.agents.learners import LEARNERS
from podracer_core.hyperparameters import ACTION_KINDS, batch_problem, complete
from tests.core.making import GuessEnv, PointEnv

SMALLEST = {
    "num_steps": 1,
    "num_minibatches": 1,
    "norm_adv": False,
    "train_freq": 1,
    "batch_size": 1,
    "learning_starts": 0,
    "buffer_size": 1,
    "hidden_size": 1,
}
WAYS = [
    (algorithm, kind)
    for algorithm, kinds in ACTION_KINDS.items()
    for kind in kinds
    if kind != "multidiscrete"  # of which a single sample is no other than a discrete one
]


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(("algorithm", "kind"), WAYS)
def test_what_is_reported_of_a_single_sample_is_finite(algorithm: str, kind: str, normalised: bool) -> None:
    given = SMALLEST | {"norm_obs": normalised, "norm_reward": normalised}
    fields = complete(algorithm).model_dump()
    hp = complete(algorithm, {name: value for name, value in given.items() if name in fields})
    assert batch_problem(hp.model_dump(), 1) is None
    env = GuessEnv(1) if kind == "discrete" else PointEnv(1)
    with torch.inference_mode():  # as a pod does
        learner = LEARNERS[algorithm](env, hp, 1)
        for _ in range(10):
            learner.iterate(1.0)
            metrics = learner.metrics()
            assert all(map(math.isfinite, metrics.values())), metrics
