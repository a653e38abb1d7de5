"""The replay buffer, with numbers worked out by hand."""

from typing import Any

import pytest
import torch

from podracer_core.agents import replay_buffer
from podracer_core.agents.replay_buffer import ReplayBuffer
from podracer_core.envs.vector_env import Step

CPU = torch.device("cpu")


def filled(capacity: int, steps: list[tuple[float, bool, bool]], num_envs: int = 1) -> ReplayBuffer:
    """Step t has observation t, action -t and final observation t + 0.5; each is (reward, terminated, truncated)."""
    buffer = ReplayBuffer(capacity, num_envs, (1,), 1, CPU)
    for t, (reward, terminated, truncated) in enumerate(steps):
        obs = t + 100.0 * torch.arange(num_envs).unsqueeze(1)
        flags = (torch.full((num_envs,), flag) for flag in (terminated, truncated))
        step = Step(obs + 1, torch.full((num_envs,), reward), *flags, obs + 0.5)
        buffer.add(obs, -obs, step)
    return buffer


def taken(buffer: ReplayBuffer, index: int, n_step: int) -> tuple[float, float, float]:
    batch = buffer.take(torch.tensor([index]), 0.5, n_step)
    return float(batch.reward), float(batch.discount), float(batch.next_obs)


PLAIN = (1.0, False, False)


def test_keeps_the_true_last_observation_and_stops_bootstrapping_only_where_an_episode_terminated() -> None:
    buffer = filled(10, [PLAIN, (2.0, True, False), (3.0, False, True), (4.0, True, True)])
    batch = buffer.take(torch.arange(4), 0.5)
    assert batch.obs.squeeze(1).tolist() == [0, 1, 2, 3]
    assert batch.action.squeeze(1).tolist() == [0, -1, -2, -3]
    assert batch.reward.tolist() == [1, 2, 3, 4]
    assert batch.next_obs.squeeze(1).tolist() == [0.5, 1.5, 2.5, 3.5]
    assert batch.discount.tolist() == [0.5, 0, 0.5, 0]


@pytest.mark.parametrize(
    ("end", "expected"),
    {
        "no end": (PLAIN, (1 + 0.5 + 0.25, 0.125, 2.5)),
        "terminated": ((1.0, True, False), (1 + 0.5, 0.0, 1.5)),
        "truncated": ((1.0, False, True), (1 + 0.5, 0.25, 1.5)),
        "both": ((1.0, True, True), (1 + 0.5, 0.0, 1.5)),
    }.values(),
)
def test_a_return_over_three_steps_ends_with_its_episode(end: Any, expected: tuple[float, float, float]) -> None:
    buffer = filled(10, [PLAIN, end, PLAIN, PLAIN, PLAIN])
    assert taken(buffer, 0, 3) == expected


def test_a_return_that_reaches_the_newest_step_is_shorter() -> None:
    buffer = filled(10, [PLAIN] * 4)
    for ring in (buffer._obs, buffer._rest, buffer._next_obs):
        ring[4:] = torch.nan  # what was never written may be anything
    assert taken(buffer, 2, 3) == (1.5, 0.25, 3.5)
    assert taken(buffer, 3, 3) == (1.0, 0.5, 3.5)


def test_a_return_goes_round_the_ring_but_not_past_the_newest_step() -> None:
    buffer = filled(4, [(float(t), False, False) for t in range(6)])  # the ring holds steps 4, 5, 2, 3
    assert taken(buffer, 3, 2) == (3 + 0.5 * 4, 0.25, 4.5)
    assert taken(buffer, 1, 2) == (5.0, 0.5, 5.5)


def test_environments_are_not_mixed() -> None:
    buffer = filled(20, [PLAIN] * 5, num_envs=2)
    assert taken(buffer, 3, 2) == (1.5, 0.25, 102.5)  # step 1 of environment 1


def test_draws_all_that_it_holds_and_nothing_else() -> None:
    buffer = filled(8, [PLAIN] * 7, num_envs=2)  # room for four steps of two environments
    batch = buffer.sample(400, 0.5, 1, torch.Generator().manual_seed(1))
    assert set(batch.obs.squeeze(1).tolist()) == {3, 4, 5, 6, 103, 104, 105, 106}


def test_goes_on_from_its_state() -> None:
    buffer, again = filled(4, [PLAIN] * 6), ReplayBuffer(4, 1, (1,), 1, CPU)
    again.load_state(buffer.state())
    for each in (buffer, again):
        each.add(torch.tensor([[9.0]]), torch.zeros(1, 1), filled_step(9.0))
    index = torch.arange(4)
    for mine, theirs in zip(buffer.take(index, 0.5, 2), again.take(index, 0.5, 2), strict=True):
        assert torch.equal(mine, theirs)


def filled_step(obs: float) -> Step:
    no = torch.tensor([False])
    return Step(torch.tensor([[obs + 1]]), torch.ones(1), no, no, torch.tensor([[obs + 0.5]]))


def test_a_state_beyond_its_limit_keeps_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_buffer, "MAX_STATE_BYTES", 3 * 6 * 4)
    state = filled(5, [PLAIN] * 7).state()
    assert state["obs"][:, 0, 0].tolist() == [4, 5, 6]
    again = ReplayBuffer(5, 1, (1,), 1, CPU)
    again.load_state(state)
    assert taken(again, 2, 2) == (1.0, 0.5, 6.5)


def test_images_are_kept_as_bytes_of_their_shape() -> None:
    buffer = ReplayBuffer(4, 2, (3, 2, 2), 1, CPU, torch.uint8)
    obs = torch.arange(24, dtype=torch.uint8).view(2, 3, 2, 2) + 200
    no = torch.zeros(2, dtype=torch.bool)
    buffer.add(obs, torch.zeros(2, 1), Step(obs + 1, torch.ones(2), no, no, obs + 2))
    batch = buffer.take(torch.tensor([1, 0]), 0.5)
    assert batch.obs.dtype == torch.uint8
    assert torch.equal(batch.obs, obs[[1, 0]])
    assert torch.equal(batch.next_obs, obs[[1, 0]] + 2)
