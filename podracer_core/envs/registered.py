"""Environments that Gymnasium registers: how to start one, and what one is. No torch."""

import contextlib
import importlib
import io
import warnings
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from podracer_core.envs.allowed import import_allowed
from podracer_core.envs.catalogue import CATALOGUE, CatalogueEntry, atari_entry
from podracer_core.envs.known import refuse_missing_atari, refuse_module_id, refuse_unknown_id
from podracer_core.envs.mujoco_warnings import unwarned_for
from podracer_core.envs.spaces import describe_space
from podracer_core.envs.wrapped import ATARI_FRAME_SKIP, is_atari, wrapping_of
from podracer_core.errors import EnvError


def registered_spec(env_id: str) -> EnvSpec:
    """Imports the packages that the operator allows where the id is not registered without them.

    Raises UnknownEnvironmentError, with the nearest ids; EnvError where such a package cannot be imported.
    """
    refuse_module_id(env_id)
    if is_atari(env_id):
        _register_games(env_id)
    elif env_id not in gymnasium.registry:
        import_allowed()
    refuse_unknown_id(env_id)
    return gymnasium.registry[env_id]


def start(spec: EnvSpec) -> "gymnasium.Env[Any, Any]":
    """The environment as agents see it, see `wrapping_of`; frames are not stacked yet. It goes without Gymnasium's
    passive checker, which doubles the cost of a cheap step.

    Raises EnvError saying what is missing, or what it raised.
    """
    if is_atari(spec.id):
        _register_games(spec.id)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), unwarned_for(spec):
            warnings.simplefilter("ignore")  # such as "a newer version exists", which is the user's choice
            wrapping = wrapping_of(spec.id)
            return wrapping.apply(gymnasium.make(spec, disable_env_checker=True, **wrapping.env_kwargs))
    except ModuleNotFoundError as error:
        raise EnvError(f"{spec.id} needs the Python package {error.name!r}, which is not installed.") from error
    except gymnasium.error.DependencyNotInstalled as error:
        raise EnvError(f"{spec.id} needs a package that is not installed: {_sentence(error)}") from error
    except Exception as error:  # an environment's constructor may raise anything
        raise EnvError(f"{spec.id} does not start: {type(error).__name__}: {_sentence(error)}") from error


def _register_games(env_id: str) -> None:
    refuse_missing_atari(env_id)
    ale_py = importlib.import_module("ale_py")  # upon which it registers them
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # else each announces itself


def _sentence(error: Exception) -> str:
    """The error's text on one line, of at most 300 characters."""
    text = " ".join(str(error).split()) or "no further text"
    return text if len(text) <= 300 else text[:297] + "..."


def describe(env: "gymnasium.Env[Any, Any]") -> CatalogueEntry:
    """What a started environment is. Raises UnsupportedSpaceError where a space cannot be told as data."""
    assert env.spec is not None
    if env.spec.id in CATALOGUE:
        return CATALOGUE[env.spec.id]
    if is_atari(env.spec.id):
        frames = env.spec.kwargs["max_num_frames_per_episode"]
        return atari_entry(env.spec.id, describe_space(env.action_space).flat_dim, frames // ATARI_FRAME_SKIP)
    return CatalogueEntry(
        id=env.spec.id,
        kind=_kind(env.spec),
        observation_space=describe_space(env.observation_space, env.spec.id),
        action_space=describe_space(env.action_space, env.spec.id),
        max_episode_steps=env.spec.max_episode_steps,
        solved_score=env.spec.reward_threshold,
    )


def _kind(spec: EnvSpec) -> str:
    """Gymnasium's own family (toy text, box2d, mujoco ...), else the package it comes from."""
    entry_point = spec.entry_point
    module = entry_point.split(":")[0] if isinstance(entry_point, str) else getattr(entry_point, "__module__", "")
    parts = module.split(".")
    family = parts[2] if parts[:2] == ["gymnasium", "envs"] and len(parts) > 2 else parts[0]
    return family.replace("_", " ") or "other"
