"""Every algorithm's learner by its name."""

from collections.abc import Callable
from typing import Any

from podracer_core.agents.a2c import A2C
from podracer_core.agents.ddpg import DDPG
from podracer_core.agents.dqn import DQN
from podracer_core.agents.learner import Learner
from podracer_core.agents.ppo import PPO
from podracer_core.agents.sac import SAC
from podracer_core.agents.td3 import TD3
from podracer_core.envs.vector_env import VectorEnv

LEARNERS: dict[str, Callable[[VectorEnv, Any, int], Learner]] = {
    "ppo": PPO,
    "a2c": A2C,
    "dqn": DQN,
    "ddpg": DDPG,
    "td3": TD3,
    "sac": SAC,
}
"""Built as LEARNERS[name](env, hyperparameters, seed), the hyperparameters being of ALGORITHMS[name]."""
