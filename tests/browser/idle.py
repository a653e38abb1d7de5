"""Environments that keep a slot busy and leave the machine to the tests."""

from pathlib import Path

IDLE, SHORT = "idle/Idle-v0", "idle/Short-v0"
"""Episodes of a second, and of a fifth of one."""

LITTLE = {"name": "ppo", "search_space": {"num_steps": 8, "num_minibatches": 1}}
"""An algorithm that reports after a few steps."""

PACKAGE = """
import time
import gymnasium
import numpy as np

class Idle(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        time.sleep(0.01)
        return np.zeros(1, np.float32), float(self.np_random.random()), False, False, {}

gymnasium.register("idle/Idle-v0", entry_point=Idle, max_episode_steps=100)
gymnasium.register("idle/Short-v0", entry_point=Idle, max_episode_steps=20)
"""


def idle_package(folder: Path) -> dict[str, str]:
    """Write it there; what a stack's environment needs to find it."""
    (folder / "idle_env.py").write_text(PACKAGE)
    return {"PODRACER_ENVIRONMENTS": "idle_env", "PYTHONPATH": str(folder)}
