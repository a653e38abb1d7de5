"""Cutting rewards into episodes."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.agents.episodes import EpisodeTracker


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5), seed=st.integers(0, 1000))
def test_episodes_are_those_that_counting_one_by_one_finds(sizes: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    tracker, num_envs = EpisodeTracker(3), 3
    running = [(0.0, 0)] * num_envs
    for size in sizes:
        reward = torch.randn(size, num_envs, generator=generator)
        ended = torch.rand(size, num_envs, generator=generator) < 0.3
        expected = []
        for t in range(size):
            for env in range(num_envs):
                total, length = running[env][0] + reward[t, env].item(), running[env][1] + 1
                running[env] = (0.0, 0) if ended[t, env] else (total, length)
                if ended[t, env]:
                    expected.append((env, round(total, 4), length))
        found = tracker.add(reward, ended)
        assert [
            (int(env), round(float(total), 4), int(length)) for env, total, length in zip(*found, strict=True)
        ] == expected
