"""The contract of a vectorised environment, and the factory that picks the best backend for an id."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from podracer_core.envs.backends import best_backend, refuse_backend
from podracer_core.envs.catalogue import ActionKind, Backend
from podracer_core.envs.image import Image
from podracer_core.envs.known import refuse_missing_packages, refuse_module_id


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
    "discrete"; int64 [num_envs, entries] counted from 0 where it is "multidiscrete", entry `i` having `nvec[i]`
    values (`nvec` is empty elsewhere) and `action_dim` being their sum; float32 [num_envs, action_dim] between
    `action_low` and `action_high` ([action_dim], None elsewhere) where it is "continuous"; beyond the bounds,
    what the environment itself makes of them.
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
    action_kind: ActionKind
    action_dim: int
    nvec: tuple[int, ...] = ()
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

    def notes(self) -> list[str]:
        """What its user should know and was not told before, in sentences. May wait for the device."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Frees what the environment holds, its processes included. May be called twice."""


def make_vector_env(
    env_id: str,
    num_envs: int,
    device: torch.device | str = "cpu",
    frame_stack: int = 1,
    backend: Backend | None = None,
) -> VectorEnv:
    """`env_id` on the backend that is fastest there, or on `backend`, one of its entry in the catalogue.

    frame_stack: observations that an agent sees at once
    Raises UnknownEnvironmentError, UnsupportedSpaceError, EnvError (a package is missing, another backend's id).
    """
    env = _make_backend(env_id, num_envs, torch.device(device), backend)
    if frame_stack == 1:
        return env
    from podracer_core.envs.frame_stack import FrameStack

    return FrameStack(env, frame_stack)


def _make_backend(env_id: str, num_envs: int, device: torch.device, backend: Backend | None) -> VectorEnv:
    refuse_module_id(env_id)
    note = ""
    if backend is None:
        backend, note = best_backend(env_id, num_envs, device.type)
    refuse_backend(env_id, backend)
    if backend == "atari":
        from podracer_core.envs.atari import Atari

        return Atari(env_id, num_envs, device)
    if backend == "batched":
        from podracer_core.envs.classic_control import ClassicControl

        return ClassicControl(env_id, num_envs, device)
    if backend == "mujoco":
        refuse_missing_packages(env_id)
        from podracer_core.envs.locomotion import Locomotion

        return Locomotion(env_id, num_envs, device, note=note)
    if backend == "mujoco-warp":
        from podracer_core.envs.locomotion_warp import WarpLocomotion

        return WarpLocomotion(env_id, num_envs, device)
    from podracer_core.envs.gymnasium_env import GymnasiumVectorEnv

    return GymnasiumVectorEnv(env_id, num_envs, device)
