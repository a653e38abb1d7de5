"""What goes around an environment, told as the lines of Python that the pages show."""

import importlib.util
from typing import Any

import gymnasium
import pytest

from podracer_core.envs.wrapped import make_env, wrapping_of

ATARI = pytest.param(
    "ALE/Pong-v5",
    4,
    marks=pytest.mark.skipif(importlib.util.find_spec("ale_py") is None, reason="not installed: ale_py"),
)


@pytest.mark.parametrize(("env_id", "frame_stack"), [("CartPole-v1", 1), ("CartPole-v1", 3), ATARI])
def test_the_lines_make_the_environment_that_the_agent_saw(env_id: str, frame_stack: int) -> None:
    wrapping = wrapping_of(env_id, frame_stack)
    told: dict[str, Any] = {"gym": gymnasium}
    exec(wrapping.code(env_id), told)  # as the reader would
    theirs, ours = told["env"], make_env({"env_id": env_id, **wrapping._asdict()})
    assert theirs.observation_space == ours.observation_space
    for env in (theirs, ours):
        env.action_space.seed(1)
    first, second = theirs.reset(seed=5)[0], ours.reset(seed=5)[0]
    assert (first == second).all()
    for _ in range(20):
        action = ours.action_space.sample()
        left, right = theirs.step(action), ours.step(action)
        assert (left[0] == right[0]).all()
        assert left[1:4] == right[1:4]
    theirs.close()
    ours.close()
