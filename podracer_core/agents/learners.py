"""Every algorithm's learner by its name."""

from collections.abc import Callable
from typing import Any

from podracer_core.agents.a2c import A2C
from podracer_core.agents.ddpg import DDPG
from podracer_core.agents.discrete_sac import DiscreteSAC
from podracer_core.agents.dqn import DQN
from podracer_core.agents.learner import Learner
from podracer_core.agents.ppo import PPO
from podracer_core.agents.redq import REDQ
from podracer_core.agents.sac import SAC
from podracer_core.agents.td3 import TD3
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import SACHyperparameters


def make_sac(env: VectorEnv, hyperparameters: SACHyperparameters, seed: int) -> Learner:
    """The form of SAC that the environment's actions call for."""
    return (DiscreteSAC if env.action_kind == "discrete" else SAC)(env, hyperparameters, seed)


LEARNERS: dict[str, Callable[[VectorEnv, Any, int], Learner]] = {
    "ppo": PPO,
    "a2c": A2C,
    "dqn": DQN,
    "ddpg": DDPG,
    "td3": TD3,
    "sac": make_sac,
    "redq": REDQ,
}
"""Built as LEARNERS[name](env, hyperparameters, seed), the hyperparameters being of ALGORITHMS[name]."""
