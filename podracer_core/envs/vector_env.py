"""The contract of a vectorised environment, and the factory that picks the best backend for an id."""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from podracer_core.envs.catalogue import CATALOGUE, refuse_missing_packages, refuse_module_id
from podracer_core.envs.image import Image
from podracer_core.envs.wrapped import is_atari


class Step(NamedTuple):
    """What one step of every environment gave.

    obs: [num_envs, observation_dim] float32, or, of images, uint8 [num_envs, channels, height, width]; of an
        environment that ended, the first of its next episode
    reward: [num_envs] float32
    terminated, truncated: [num_envs] bool; both may hold at once, as in Gymnasium
    final_obs: like obs; the true last observation of an environment that ended,
        equal to `obs` elsewhere (and the same tensor when none ended: do not write into it)
    """

    obs: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    final_obs: Tensor


class VectorEnv(ABC):
    """`num_envs` copies of one environment that step together, with tensors on `device`.

    Actions are in the environment's own units: int64 [num_envs] counted from 0 where `action_kind` is
    "discrete", float32 [num_envs, action_dim] between `action_low` and `action_high` ([action_dim], None
    for discrete) where it is "continuous"; beyond the bounds, what the environment itself makes of them.
    `image` says what observed images are, `observation_dim` being the number of their pixels; it is None for vectors.
    Where `frame_stack` is above 1, an observation is so many of the environment's own side by side, oldest first.
    `max_episode_steps` is None where nothing truncates. Tensors given out are never written to again.
    """

    env_id: str
    num_envs: int
    device: torch.device
    observation_dim: int
    image: Image | None = None
    frame_stack: int = 1
    action_kind: Literal["discrete", "continuous"]
    action_dim: int
    action_low: Tensor | None
    action_high: Tensor | None
    max_episode_steps: int | None

    @abstractmethod
    def reset(self, seed: int) -> Tensor:
        """Starts every environment anew, the same way for the same seed. Returns obs as `Step` has it."""

    @abstractmethod
    def step(self, actions: Tensor) -> Step:
        """Steps every environment; those that end start their next episode in the same step.

        Raises EnvironmentCrashedError where the environment itself raises.
        """

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """What `load_state` needs to go on from here, on the CPU.

        Batched environments go on exactly. Gymnasium's cannot be saved: those keep a seed drawn from their
        own generator, and `load_state` starts new episodes from it, the same ones each time.
        """

    @abstractmethod
    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        """Goes on from the `state()` of an environment of this id and size. Returns obs, as `reset` does."""

    @abstractmethod
    def close(self) -> None:
        """Frees what the environment holds, its processes included. May be called twice."""


def make_vector_env(env_id: str, num_envs: int, device: torch.device | str = "cpu", frame_stack: int = 1) -> VectorEnv:
    """The fastest backend for `env_id`: batched where the catalogue has that, else Gymnasium's own.

    frame_stack: observations that an agent sees at once
    Raises UnknownEnvironmentError, UnsupportedSpaceError, EnvError (a package is missing).
    """
    env = _make_backend(env_id, num_envs, device)
    if frame_stack == 1:
        return env
    from podracer_core.envs.frame_stack import FrameStack

    return FrameStack(env, frame_stack)


def _make_backend(env_id: str, num_envs: int, device: torch.device | str) -> VectorEnv:
    refuse_module_id(env_id)
    backend = CATALOGUE[env_id].backends[0] if env_id in CATALOGUE else "gymnasium"
    if is_atari(env_id):
        from podracer_core.envs.atari import Atari

        return Atari(env_id, num_envs, torch.device(device))
    if backend == "batched":
        from podracer_core.envs.classic_control import ClassicControl

        return ClassicControl(env_id, num_envs, torch.device(device))
    if backend == "mujoco":
        refuse_missing_packages(env_id)
        from podracer_core.envs.locomotion import Locomotion

        return Locomotion(env_id, num_envs, torch.device(device))
    from podracer_core.envs.gymnasium_env import GymnasiumVectorEnv

    return GymnasiumVectorEnv(env_id, num_envs, torch.device(device))
