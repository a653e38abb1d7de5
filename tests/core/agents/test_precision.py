"""Rounded products are for updates alone, where they were asked for."""

import pytest
import torch

from podracer_core.agents.precision import matmul_precision
from podracer_core.agents.sac import SAC
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.hyperparameters import SACHyperparameters


def test_what_was_in_effect_is_so_again_whatever_happens_inside() -> None:
    before = torch.get_float32_matmul_precision()
    seen = []

    def fail() -> None:
        with matmul_precision("medium"):
            seen.append(torch.get_float32_matmul_precision())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == ["medium"]
    assert torch.get_float32_matmul_precision() == before


@pytest.mark.parametrize("precision", ["highest", "medium"])
def test_the_hyperparameter_is_in_effect_in_updates_and_not_in_acting(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, set[str]] = {"update": set(), "explore": set()}
    for name, found in seen.items():
        original = getattr(SAC, name)

        def noting(*arguments: object, original: object = original, found: set[str] = found) -> object:
            found.add(torch.get_float32_matmul_precision())
            return original(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(SAC, name, noting)
    hyperparameters = SACHyperparameters(
        hidden_size=8, learning_starts=16, batch_size=16, float32_matmul_precision=precision
    )
    learner = SAC(make_vector_env("Pendulum-v1", 4), hyperparameters, 1)
    while not all(seen.values()):
        learner.iterate(1.0)
    assert seen == {"update": {precision}, "explore": {"highest"}}
