"""Every algorithm's learner by its name."""

from collections.abc import Callable
from typing import Any

from podracer_core.agents.learner import Learner
from podracer_core.agents.ppo import PPO
from podracer_core.envs.vector_env import VectorEnv

LEARNERS: dict[str, Callable[[VectorEnv, Any, int], Learner]] = {
    "ppo": PPO,
}
"""Built as LEARNERS[name](env, hyperparameters, seed), the hyperparameters being of ALGORITHMS[name]."""
