"""The temperature that an heir of soft actor-critic begins with."""

from typing import Any

import pytest
import torch

from podracer_core.agents.learners import LEARNERS
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.fuse import fuse
from podracer_core.hyperparameters import complete
from tests.core.making import GuessEnv, PointEnv

pytestmark = pytest.mark.parametrize(
    ("algorithm", "env"),
    [("sac", PointEnv(2)), ("sac", GuessEnv(2)), ("redq", PointEnv(2))],
    ids=["sac-continuous", "sac-discrete", "redq"],
)


def make(algorithm: str, env: VectorEnv, ent_coef: float | str) -> Any:
    return LEARNERS[algorithm](env, complete(algorithm, {"ent_coef": ent_coef, "hidden_size": 4}), 1)


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ((0.1, "auto"), 0.1),
        (("auto", 0.1, "auto"), 0.1),
        ((0.0, "auto"), 1e-4),
        ((0.1, 0.3), 0.3),
        (("auto", 0.0), 0.0),
        (("auto", "auto"), 0.05),
    ],
)
def test_it_is_its_parent_s_where_it_is_automatic_and_its_own_where_it_is_fixed(
    algorithm: str, env: VectorEnv, line: tuple[float | str, ...], begins: float
) -> None:
    learner = make(algorithm, env, line[0])
    if line[0] == "auto":  # as if it had learned
        learner.networks["log_ent_coef"].fill_(0.05).log_()
        learner.temperature.refresh()
    for ent_coef in line[1:]:
        heir = make(algorithm, env, ent_coef)
        heir.inherit(learner.learned())
        learner = heir
    torch.testing.assert_close(learner.temperature.ent_coef, torch.tensor([begins]))
    assert learner.networks["log_ent_coef"].isfinite()


def test_of_several_fixed_ones_it_is_the_geometric_mean(algorithm: str, env: VectorEnv) -> None:
    heir = make(algorithm, env, "auto")
    heir.inherit(fuse([make(algorithm, env, 0.1).learned(), make(algorithm, env, 0.4).learned()]))
    torch.testing.assert_close(heir.temperature.ent_coef, torch.tensor([0.2]))
