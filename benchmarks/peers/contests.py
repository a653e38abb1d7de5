"""What is measured: environments with their targets, and each side's own choices where it has one."""

from dataclasses import dataclass

TARGETS = {
    "CartPole-v1": 475.0,
    "Pendulum-v1": -200.0,
    "Acrobot-v1": -100.0,
    "MountainCarContinuous-v0": 90.0,
    "LunarLander-v3": 200.0,
}

BODIES = ("HalfCheetah-v5", "Ant-v5", "Humanoid-v5")

ALGORITHMS: dict[str, dict[str, str]] = {
    "sbx": {"Pendulum-v1": "sac"},
}
"""What a participant reaches a target with, where it is not PPO."""


@dataclass(frozen=True)
class Shape:
    """Of an iteration of PPO in throughput: equal on all sides."""

    batch_rows: int
    minibatch_rows: int
    num_epochs: int


SHAPES = {"CartPole-v1": Shape(2048, 256, 4), **dict.fromkeys(BODIES, Shape(4096, 1024, 2))}

NUM_ENVS: dict[str, dict[str, int]] = {
    "ours": {"CartPole-v1": 256},
    "sb3": {"CartPole-v1": 8, **dict.fromkeys(BODIES, 8)},
    "sbx": {"CartPole-v1": 8, **dict.fromkeys(BODIES, 8)},
}
"""Each side's own number of environments in throughput: 64 for those that step them in one call, unless said here."""

DEFAULT_NUM_ENVS = 64


def algorithm_of(name: str, env_id: str) -> str:
    return ALGORITHMS.get(name, {}).get(env_id, "ppo")


def num_envs_of(name: str, env_id: str) -> int:
    return NUM_ENVS.get(name, {}).get(env_id, DEFAULT_NUM_ENVS)
