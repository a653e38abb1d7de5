"""Playing an agent in the real Gymnasium environment, one whole episode after another."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from podracer_core.envs.env_group import crash_text
from podracer_core.envs.wrapped import is_atari, make_env
from podracer_core.errors import CheckpointError, EnvError, EnvironmentCrashedError, PodracerError
from podracer_core.limits import MOST_EPISODE_STEPS
from podracer_core.player import Agent


class Episode(NamedTuple):
    """episodic_return: undiscounted; length: in steps"""

    seed: int
    episodic_return: float
    length: int


def play_episodes(
    agent: Agent, count: int, seed: int, progress: Callable[[float], None] = lambda share: None
) -> list[Episode]:
    """`count` deterministic episodes, each begun with a seed of its own that follows from `seed`.

    progress: told the share that is played, after each
    Raises EnvError, CheckpointError.
    """
    try:
        env = make_env(agent.metadata)
    except PodracerError:
        raise
    except Exception as error:  # an environment's constructor, and what it imports, may raise anything
        text = " ".join(str(error).split())[:300]
        raise EnvError(f"{agent.env_id} does not start: {type(error).__name__}: {text}") from error
    try:
        seeds, episodes = np.random.SeedSequence(seed).generate_state(count), []
        for one in seeds:
            episodes.append(play_episode(env, agent, int(one)))
            progress(len(episodes) / count)
        return episodes
    finally:
        env.close()


def play_episode(env: Any, agent: Agent, seed: int, each: Callable[[], None] = lambda: None) -> Episode:
    """One deterministic episode; `each` is called after the reset and after every step.

    Raises CheckpointError where the agent does not fit, EnvironmentCrashedError.
    """
    try:
        obs, _ = env.reset(seed=seed)
    except Exception as error:  # an environment may raise anything
        raise _crash(agent, "while starting an episode", error) from error
    each()
    bounded = env.spec.max_episode_steps or is_atari(agent.env_id)  # which ends its games by itself
    most_steps = math.inf if bounded else MOST_EPISODE_STEPS
    episodic_return, length, ended = 0.0, 0, False
    while not ended:
        try:
            action = agent.act(obs)
        except ValueError as error:
            raise CheckpointError(f"The agent does not fit {agent.env_id} as installed here: {error}.") from None
        try:
            obs, reward, terminated, truncated, _ = env.step(action)
            episodic_return += float(reward)
        except Exception as error:  # as above
            raise _crash(agent, f"at step {length + 1} of an episode, on action {action}", error) from error
        if not math.isfinite(episodic_return):
            text = f"gave the reward {reward} at step {length + 1} of an episode, on action {action}."
            raise EnvironmentCrashedError(f"{agent.env_id} {text}")
        each()
        length += 1
        ended = terminated or truncated or length >= most_steps
    return Episode(seed, episodic_return, length)


def _crash(agent: Agent, when: str, error: Exception) -> EnvironmentCrashedError:
    return EnvironmentCrashedError(f"{agent.env_id} crashed {when}: {crash_text(error)}")
