"""Rounded products are for the updates of wide networks alone, and stray from exact ones by what rounding costs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from podracer_core.agents import precision
from podracer_core.agents.critics import Critics
from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.networks import Mlp, mlp_sizes, parameter_count
from podracer_core.agents.precision import WIDE, matmul_precision, multiplies_bfloat16_faster, round_if_wide
from podracer_core.hyperparameters import complete
from tests.core.agents.test_off_policy import OFF_POLICY, OWN, train
from tests.core.making import PointEnv

CPU = torch.device("cpu")
CLOSE = {"relu": 0.1, "tanh": 0.05, "elu": 0.05, "silu": 0.05}
"""By activation; rectified units near 0 are switched by rounding, with the whole of their gradient."""


@pytest.fixture
def amx(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a processor that multiplies bfloat16 faster."""
    monkeypatch.setattr(precision, "multiplies_bfloat16_faster", lambda: True)


needs_amx = pytest.mark.skipif(not multiplies_bfloat16_faster(), reason="this processor has no AMX")


def precision_of(*sizes: int) -> str:
    """That products of a layer with so many inputs and outputs would now have."""
    round_if_wide(torch.empty(sizes))
    return torch.get_float32_matmul_precision()


def fail_inside(asked: str, device: str) -> None:
    with matmul_precision(asked, torch.device(device)):
        assert precision_of(WIDE, WIDE) == asked
        raise ZeroDivisionError


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("asked", ["highest", "high", "medium"])
def test_what_was_in_effect_is_so_again_whatever_happens_inside(asked: str, device: str, amx: None) -> None:
    before = torch.get_float32_matmul_precision()
    with pytest.raises(ZeroDivisionError):
        fail_inside(asked, device)
    assert precision_of(WIDE, WIDE) == before


def test_layers_that_are_narrow_on_either_side_stay_exact(amx: None) -> None:
    with matmul_precision("medium", CPU):
        assert precision_of(WIDE, WIDE - 1) == precision_of(WIDE - 1, WIDE) == precision_of(2, WIDE, 1) == "highest"
        assert precision_of(2, WIDE, WIDE) == "medium"


def test_nothing_is_rounded_where_that_is_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bfloat16_faster", lambda: False)
    with matmul_precision("medium", CPU):
        assert precision_of(WIDE, WIDE) == "highest"


def relative_error(value: Tensor, exact: Tensor) -> float:
    return float((value - exact).norm() / exact.norm())


def check_apart(compute: Callable[[], list[Tensor]], most: float) -> None:
    """That what `compute` gives rounded is not what it gives exactly, and no further from it than `most`."""
    exact = [value.clone() for value in compute()]
    with matmul_precision("medium", CPU):
        rounded = compute()
    for value, expected in zip(rounded, exact, strict=True):
        assert value.dtype == torch.float32
        assert 0 < relative_error(value, expected) < most


@needs_amx
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", CLOSE)
def test_critics_are_what_they_are_within_rounding(activation: str, layer_norm: bool) -> None:
    torch.manual_seed(1)
    critics = Critics(2, [20, WIDE, WIDE, 1], activation, CPU, layer_norm=layer_norm)
    critics.initialise(torch.Generator().manual_seed(1))
    x, upstream = torch.randn(64, 20), torch.randn(2, 64, 1)

    def compute() -> list[Tensor]:
        values = critics.forward_keep(x)
        torch.testing.assert_close(critics.forward(x), values)
        by_inputs = critics.input_gradient(upstream, 3)
        critics.backward(upstream)
        return [values, by_inputs, *critics.weight_gradients[:2], *critics.bias_gradients[:2]]

    check_apart(compute, CLOSE[activation])


@needs_amx
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", CLOSE)
def test_an_actor_is_what_it_is_within_rounding(activation: str, layer_norm: bool) -> None:
    torch.manual_seed(1)
    sizes = mlp_sizes(20, WIDE, 2, 6)
    parameters, gradients = (torch.zeros(parameter_count(sizes, layer_norm)) for _ in range(2))
    actor = Mlp(sizes, activation, parameters, gradients, layer_norm=layer_norm)
    actor.initialise(1.0, torch.Generator().manual_seed(1))
    x, upstream = torch.randn(64, 20), torch.randn(64, 6)

    def compute() -> list[Tensor]:
        out = actor.forward_keep(x)
        torch.testing.assert_close(actor.forward(x), out)
        by_first = actor.backward(upstream).float()
        return [out, by_first, *actor.weight_gradients[:2], *actor.bias_gradients[:2]]

    check_apart(compute, CLOSE[activation])


def make(algorithm: str, seed: int = 1, **hyperparameters: Any) -> Any:
    torch.set_num_threads(1)
    values: dict[str, Any] = {"hidden_size": WIDE, "batch_size": 64, "learning_starts": 64, "buffer_size": 1000}
    values |= {"float32_matmul_precision": "medium"} | OWN.get(algorithm, {}) | hyperparameters
    return LEARNERS[algorithm](PointEnv(4), complete(algorithm, values), seed)


@needs_amx
@pytest.mark.parametrize("algorithm", OFF_POLICY)
def test_an_update_goes_the_exact_one_s_way(algorithm: str) -> None:
    """By the gradients: Adam's first steps are as long for the smallest as for the largest."""
    gradients = []
    for asked in ("highest", "medium"):
        learner = make(algorithm, float32_matmul_precision=asked)
        while learner.optimizers["critics"].num_steps == 0:
            learner._step(torch.zeros(4, 1))
            if learner.global_step >= 64:
                learner._updates(2)
        gradients.append([learner.optimizers[name].gradients for name in ("critics", "actor")])
    for exact, rounded in zip(*gradients, strict=True):
        assert 0 < relative_error(rounded, exact) < 0.1


@pytest.mark.parametrize("asked", ["highest", "medium"])
def test_the_hyperparameter_is_in_effect_in_updates_and_not_in_acting(
    asked: str, amx: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = make("sac", float32_matmul_precision=asked)
    seen: dict[str, set[str]] = {"_update": set(), "explore": set()}
    for name, found in seen.items():
        original = getattr(learner, name)

        def noting(*arguments: object, original: Any = original, found: set[str] = found) -> object:
            found.add(precision_of(WIDE, WIDE))
            return original(*arguments)

        monkeypatch.setattr(learner, name, noting)
    train(learner, 3)
    assert seen == {"_update": {asked}, "explore": {"highest"}}


@pytest.mark.parametrize("algorithm", OFF_POLICY)
def test_the_same_seed_gives_the_same_weights_and_a_resumed_one_too(algorithm: str, amx: None) -> None:
    whole, half, resumed = train(make(algorithm), 4), train(make(algorithm), 2), make(algorithm, seed=9)
    resumed.load_state(half.state())
    train(resumed, 2)
    train(half, 2)
    for name, network in whole.networks.items():
        assert torch.equal(network, half.networks[name])
        assert torch.equal(network, resumed.networks[name])
