"""Advantages, worked out by hand and by the definition."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from podracer_core.agents.returns import discounted_sums, explained_variance, gae


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None]


def flags(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.bool)[:, None]


def test_advantages_worked_by_hand() -> None:
    """gamma 0.5, lambda 0.5: delta_t = r + 0.5 V' - V = 1 + 2 - 2 = 1, 2 + 1 - 4 = -1, 3 + 0.5 - 2 = 1.5."""
    reward, value, following = column(1, 2, 3), column(2, 4, 2), column(4, 2, 1)
    advantage, returns = gae(reward, value, following, flags(0, 0, 0), flags(0, 0, 0), 0.5, 0.5)
    expected = column(1 + 0.25 * (-1 + 0.25 * 1.5), -1 + 0.25 * 1.5, 1.5)
    torch.testing.assert_close(advantage, expected)
    torch.testing.assert_close(returns, expected + value)


def test_nothing_follows_a_termination() -> None:
    advantage, _ = gae(column(1, 1), column(0, 0), column(9, 9), flags(1, 0), flags(0, 0), 0.5, 0.5)
    torch.testing.assert_close(advantage, column(1, 5.5))


def test_a_truncation_bootstraps_and_the_next_episode_does_not_leak_in() -> None:
    advantage, _ = gae(column(1, 1), column(0, 0), column(9, 9), flags(0, 0), flags(1, 0), 0.5, 0.5)
    torch.testing.assert_close(advantage, column(5.5, 5.5))


def test_termination_wins_where_both_are_reported() -> None:
    advantage, _ = gae(column(1), column(0), column(9), flags(1), flags(1), 0.5, 0.5)
    torch.testing.assert_close(advantage, column(1))


@given(num_steps=st.integers(1, 40), seed=st.integers(0, 1000))
def test_doubling_gives_what_the_recursion_gives(num_steps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    reward, value, following = torch.randn(3, num_steps, 4, generator=generator)
    terminated, truncated = torch.rand(2, num_steps, 4, generator=generator) < 0.15
    gamma, gae_lambda = 0.97, 0.9
    advantage, _ = gae(reward, value, following, terminated, truncated, gamma, gae_lambda)
    expected, later = torch.zeros(num_steps, 4), torch.zeros(4)
    for t in reversed(range(num_steps)):
        delta = reward[t] + gamma * following[t] * ~terminated[t] - value[t]
        later = delta + gamma * gae_lambda * later * ~(terminated[t] | truncated[t])
        expected[t] = later
    torch.testing.assert_close(advantage, expected, atol=1e-5, rtol=1e-5)


def test_discounted_sums_restart_after_an_episode_and_go_on_from_the_start() -> None:
    sums = discounted_sums(column(1, 1, 1), flags(0, 1, 0), torch.tensor([4.0]), 0.5)
    torch.testing.assert_close(sums, column(3, 2.5, 1))


def test_explained_variance_worked_by_hand() -> None:
    """Returns 1, 2, 6 vary by 14/3; what is left of them, 0, 0, 3, by 2."""
    returns = torch.tensor([1.0, 2.0, 6.0])
    torch.testing.assert_close(explained_variance(torch.tensor([1.0, 2.0, 3.0]), returns), torch.tensor(1 - 6 / 14))
    assert explained_variance(returns + 5, returns) == 1
    for alike in ([3.0], [3.0, 3.0]):
        assert explained_variance(torch.zeros(len(alike)), torch.tensor(alike)) == 0
