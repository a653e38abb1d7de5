"""Which backend steps an environment on a device, and why not a faster one. Loads neither torch nor warp."""

import importlib.util
from collections.abc import Mapping
from typing import Any, NamedTuple

from podracer_core.envs.catalogue import CATALOGUE, Backend
from podracer_core.envs.wrapped import is_atari
from podracer_core.errors import CheckpointError, EnvError

MIN_WARP_ENVS = 256
"""Fewer bodies than this are stepped by CPU threads also where there is a GPU.

A step of a GPU takes about as long for one body as for hundreds: 460 to 1,800 kernels one after another, some
microseconds each. That is reckoned, not measured.
"""

INSTALL_WARP = "pip install 'mujoco-warp~=4.0'"


class Choice(NamedTuple):
    """note: why it is not the one for that device, in a sentence, else empty"""

    backend: Backend
    note: str = ""


def backends_of(env_id: str) -> tuple[Backend, ...]:
    """The fastest on a CPU first."""
    if env_id in CATALOGUE:
        return CATALOGUE[env_id].backends
    return ("atari", "gymnasium") if is_atari(env_id) else ("gymnasium",)


def best_backend(env_id: str, num_envs: int, device: str) -> Choice:
    """The fastest for `num_envs` environments on a torch device of this type."""
    backends = backends_of(env_id)
    if device != "cuda" or "mujoco-warp" not in backends:
        return Choice(backends[0])
    if num_envs < MIN_WARP_ENVS:
        return Choice(
            backends[0],
            f"CPU threads step the {num_envs} environments of {env_id}; the GPU does from {MIN_WARP_ENVS} on, "
            "and is at its best with thousands.",
        )
    if not warp_installed():
        return Choice(
            backends[0],
            f"CPU threads step {env_id}, for mujoco-warp is not installed; {INSTALL_WARP} has the GPU do it.",
        )
    return Choice("mujoco-warp")


def refuse_backend(env_id: str, backend: Backend) -> None:
    """Raises EnvError where `backend` does not step `env_id`, or its package is missing."""
    if backend not in backends_of(env_id):
        raise EnvError(f"{env_id} has no backend {backend!r}; it has {', '.join(backends_of(env_id))}.")
    if backend == "mujoco-warp" and not warp_installed():
        raise EnvError(f"The backend mujoco-warp needs a package that is not installed: {INSTALL_WARP}")


def refuse_other_state(state: Mapping[str, Any], key: str) -> None:
    """Raises CheckpointError where a body's saved state lacks what every one of this backend has."""
    if key not in state:
        raise CheckpointError(
            "The saved state is of bodies stepped by another backend; resume it on a worker with the same packages "
            "and device, or start a new agent from it."
        )


def warp_installed() -> bool:
    """Imports nothing."""
    return all(importlib.util.find_spec(name) is not None for name in ("mujoco", "mujoco_warp", "warp"))
