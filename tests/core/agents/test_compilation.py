"""The compiled update and its eager twin do the same, and a pod says what it did with the flag."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._inductor import config as inductor_config

from podracer_core.agents import compilation
from podracer_core.agents.learners import LEARNERS
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.hyperparameters import complete
from podracer_core.progress import Log, Outcome, PodMessage
from tests.core.making import make_plan, run_pod

# torch's compiler uses what torch itself calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _no_trace() -> None:
    """Writing down each step of the compiler, which pytest's log capture asks for, costs more than compiling."""
    logging.getLogger("torch.__trace").setLevel(logging.WARNING)


SMALL: dict[str, Any] = {"hidden_size": 4, "num_layers": 1, "weight_decay": 0.01, "anneal_lr": True}

needs_compiler = pytest.mark.skipif(
    compilation.missing_compiler(CPU) is not None, reason=f"{compilation.missing_compiler(CPU)}"
)


@needs_compiler
def test_compiled_and_eager_learn_the_same() -> None:
    """PPO stands for all: to compile another takes a test half a minute (`benchmarks.compiled_update` compares SAC)."""
    twins = []
    for compile_it in (False, True):
        hyperparameters = complete("ppo", SMALL, {"num_steps": 16, "num_minibatches": 2, "max_grad_norm": 0.1})
        learner = LEARNERS["ppo"](make_vector_env("CartPole-v1", 4), hyperparameters, 5)
        assert not compile_it or learner.compile()
        for remaining in (1.0, 0.8, 0.6, 0.4):
            learner.iterate(remaining)
        twins.append(learner)
    eager, compiled = (twin.tensors() for twin in twins)
    for name, tensor in eager.items():
        torch.testing.assert_close(compiled[name], tensor, rtol=1e-3, atol=1e-5, msg=name)


def logs(messages: list[PodMessage]) -> str:
    return " ".join(message.text for message in messages if isinstance(message, Log))


def test_a_pod_without_a_compiler_trains_and_says_so(tmp_path: Path) -> None:
    with inductor_config.patch({"cpp.cxx": ("no-such-compiler",)}):
        messages, result = run_pod(make_plan(tmp_path, compile=True))
    assert result.outcome is Outcome.FINISHED
    assert "not compiled: no C++ compiler is installed" in logs(messages)


@pytest.mark.parametrize(
    ("algorithm", "schedule"), [("a2c", {}), ("ppo", {"anneal_clip_coef": True}), ("ppo", {"anneal_ent_coef": True})]
)
def test_what_gains_nothing_says_so(algorithm: str, schedule: dict[str, Any], tmp_path: Path) -> None:
    messages, _ = run_pod(make_plan(tmp_path, algorithm=algorithm, hyperparameters=schedule, compile=True))
    assert "not compiled" in logs(messages)
