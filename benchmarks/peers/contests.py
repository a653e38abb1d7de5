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


@dataclass(frozen=True)
class Search:
    """What a population searches for, equal on all sides.

    target: 20-episode mean return; env_steps: over all agents, after how many their scores are compared
    far_target: which takes an agent more than one round, where there is one: for Podracer's own modes
    learning_rate: log-uniform; clip_coef, ent_coef: uniform
    """

    target: float
    env_steps: int
    learning_rate: tuple[float, float]
    clip_coef: tuple[float, float] = (0.1, 0.3)
    ent_coef: tuple[float, float] = (0.0, 0.01)
    far_target: float | None = None


SEARCHES = {
    "CartPole-v1": Search(475.0, 100_000, (1e-4, 1e-2)),
    "Pendulum-v1": Search(-200.0, 200_000, (1e-4, 1e-2)),
    "HalfCheetah-v5": Search(1500.0, 300_000, (3e-5, 3e-3), far_target=4800.0),
}
"""The ranges of clip_coef and ent_coef are those of RLlib's own search over MuJoCo's bodies
(rllib/tuned_examples/ppo/benchmark_ppo_mujoco_pb2.py), the learning rate's for the small environments that of
AgileRL's PPO tutorial. Around 3e-4, which Podracer's and RLlib's settings for MuJoCo share, they are centred there.
HalfCheetah's far target is Gymnasium's own threshold for it: all of Podracer's modes reach the near one with their
first agents, within a round, so that it cannot tell them apart."""


def algorithm_of(name: str, env_id: str) -> str:
    return ALGORITHMS.get(name, {}).get(env_id, "ppo")


def num_envs_of(name: str, env_id: str) -> int:
    return NUM_ENVS.get(name, {}).get(env_id, DEFAULT_NUM_ENVS)
