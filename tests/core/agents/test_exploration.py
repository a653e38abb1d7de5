"""Exploration noise and the units of actions."""

from typing import Any

import pytest
import torch

from podracer_core.agents.exploration import BoxActions, DiscreteActions
from tests.core.making import GuessEnv, PointEnv


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_noise_is_standard_normal_and_correlated_as_told(correlation: float) -> None:
    actions = BoxActions(PointEnv(200), correlation)
    actions.noise(100, generator())  # forgets where it began
    noise = actions.noise(400, torch.Generator().manual_seed(4)).squeeze(2)
    torch.testing.assert_close(noise.std(), torch.tensor(1.0), atol=0.05, rtol=0)
    torch.testing.assert_close(noise.mean(), torch.tensor(0.0), atol=0.05, rtol=0)
    for lag in (1, 2):
        measured = (noise[lag:] * noise[:-lag]).mean()
        torch.testing.assert_close(measured, torch.tensor(correlation**lag), atol=0.05, rtol=0)


def test_correlated_noise_by_hand() -> None:
    fresh, correlated = (BoxActions(PointEnv(4), c).noise(3, generator()) for c in (0.0, 0.6))
    first = 0.8 * fresh[0]
    torch.testing.assert_close(correlated[0], first)
    torch.testing.assert_close(correlated[2], 0.6 * (0.6 * first + 0.8 * fresh[1]) + 0.8 * fresh[2])


def test_noise_goes_on_from_its_state() -> None:
    first, second = (BoxActions(PointEnv(4), 0.8) for _ in range(2))
    first.noise(5, generator())
    second.load_state(first.state())
    assert torch.equal(first.noise(3, generator()), second.noise(3, generator()))


def test_random_actions_are_uniform_between_the_bounds() -> None:
    actions = BoxActions(PointEnv(4000), 0.9)
    drawn: Any = actions.to_env(actions.random(actions.noise(60, generator())[-1]))
    counts = torch.histc(drawn, 4, 8.0, 16.0) / 4000
    torch.testing.assert_close(counts, torch.full((4,), 0.25), atol=0.03, rtol=0)


@pytest.mark.parametrize(("correlation", "repeated"), [(0.0, (0.28, 0.39)), (0.9, (0.6, 0.9))])
def test_correlated_noise_repeats_discrete_actions_and_leaves_them_as_likely(
    correlation: float, repeated: tuple[float, float]
) -> None:
    actions = DiscreteActions(GuessEnv(200), correlation)
    actions.noise(50, generator())  # forgets where it began
    logits = torch.tensor([0.6, 0.3, 0.1]).log()
    noise = actions.noise(300, generator())
    chosen = (logits - noise).argmax(2)
    shares = torch.bincount(chosen.flatten(), minlength=3) / chosen.numel()
    torch.testing.assert_close(shares, torch.tensor([0.6, 0.3, 0.1]), atol=0.03, rtol=0)
    random = torch.stack([actions.random(step) for step in noise])
    assert repeated[0] < float((random[1:] == random[:-1]).float().mean()) < repeated[1]
