"""Prioritised replay against numbers worked out by hand."""

import torch

from podracer_core.agents.prioritised_replay import EPSILON, Draw, PrioritisedReplayBuffer, SumTree
from podracer_core.envs.vector_env import Step

CPU = torch.device("cpu")


def filled(rewards: list[float], num_envs: int = 1, capacity: int = 8, alpha: float = 1.0) -> PrioritisedReplayBuffer:
    """A buffer with one step for each `num_envs` rewards; observations count the steps."""
    buffer = PrioritisedReplayBuffer(capacity, num_envs, (1,), 1, CPU, alpha=alpha)
    for index, reward in enumerate(torch.tensor(rewards).view(-1, num_envs)):
        add(buffer, float(index), reward)
    return buffer


def add(buffer: PrioritisedReplayBuffer, at: float, reward: torch.Tensor) -> None:
    obs, never = torch.full((len(reward), 1), at), torch.zeros(len(reward), dtype=torch.bool)
    buffer.add(obs, torch.zeros_like(obs), Step(obs + 1, reward, never, never, obs + 1))


def draw(buffer: PrioritisedReplayBuffer, size: int, beta: float = 1.0) -> Draw:
    return buffer.draw(size, 0.9, 1, beta, torch.Generator().manual_seed(0))


def test_the_tree_finds_the_leaf_at_which_the_running_sum_passes() -> None:
    tree = SumTree(7, CPU)
    tree.set(torch.arange(7), torch.tensor([1.0, 0, 2, 0, 0, 3, 4]))  # sums 1 1 3 3 3 6 10
    mass = torch.tensor([0.0, 0.99, 1.0, 2.99, 3.0, 5.99, 6.0, 9.99], dtype=torch.float64)
    assert tree.find(mass).tolist() == [0, 0, 2, 2, 5, 5, 6, 6]
    assert float(tree.total) == 10
    tree.set(torch.tensor([6, 0]), torch.tensor([0.0, 5.0]))  # sums 5 5 7 7 7 10 10
    assert tree.find(torch.tensor([4.99, 5.0, 10.0], dtype=torch.float64)).tolist() == [0, 2, 5]


def test_the_tree_equals_a_plain_running_sum_for_any_weights() -> None:
    weights = torch.rand(1000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    tree = SumTree(1000, CPU)
    tree.set(torch.arange(1000), weights)
    mass = torch.rand(500, generator=torch.Generator().manual_seed(2), dtype=torch.float64) * weights.sum()
    assert tree.find(mass).tolist() == torch.searchsorted(weights.cumsum(0), mass, right=True).tolist()


def test_shares_of_the_draws_and_their_weights_are_those_of_the_paper() -> None:
    buffer = filled([0.0, 0, 0])
    buffer.update(torch.arange(3), torch.tensor([1.0, -2, 5]) - EPSILON * torch.tensor([1.0, -1, 1]))
    _, rows, weight = draw(buffer, 800)
    # One from each of 800 equal shares; rounding may move a draw at a border by one.
    torch.testing.assert_close(torch.bincount(rows, minlength=3), torch.tensor([100, 200, 500]), atol=1, rtol=0)
    # w = (N P)^-1: 8/3, 4/3, 8/15; over the largest 1, 1/2, 1/5
    torch.testing.assert_close(weight[[50, 200, 600]], torch.tensor([1.0, 0.5, 0.2]))
    assert (draw(buffer, 16, beta=0.0).weight == 1).all()


def test_alpha_0_draws_uniformly() -> None:
    buffer = filled([0.0, 0, 0, 0], alpha=0.0)
    buffer.update(torch.arange(4), torch.tensor([9.0, 1, 1, 1]))
    assert torch.bincount(draw(buffer, 40).rows).tolist() == [10, 10, 10, 10]


def test_a_new_transition_gets_the_highest_priority_so_far_and_replaces_the_oldest() -> None:
    buffer = filled([0.0] * 4, capacity=4)
    buffer.update(torch.arange(4), torch.tensor([3.0, 1, 1, 1]))
    add(buffer, 7.0, torch.ones(1))
    minibatch, rows, _ = draw(buffer, 60)
    torch.testing.assert_close(torch.bincount(rows), torch.tensor([30, 10, 10, 10]), atol=1, rtol=0)
    assert (minibatch.obs[rows == 0] == 7).all()


def test_what_was_not_filled_yet_is_never_drawn() -> None:
    buffer = filled([0.0] * 6, num_envs=3, capacity=30)
    assert draw(buffer, 500).rows.max() == 5


def test_a_restored_buffer_draws_the_same() -> None:
    buffer = filled([float(i) for i in range(12)], num_envs=2)  # the ring has gone round
    buffer.update(torch.tensor([0, 3]), torch.tensor([4.0, 0.1]))
    restored = filled([], num_envs=2)
    restored.load_state(buffer.state())
    for size in (5, 64):
        ours, theirs = draw(buffer, size), draw(restored, size)
        assert torch.equal(ours.rows, theirs.rows)
        assert torch.equal(ours.weight, theirs.weight)
        assert torch.equal(ours.minibatch.reward, theirs.minibatch.reward)
