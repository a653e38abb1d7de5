"""Which environment ids can be used here: known or registered, with their packages installed. No torch."""

import difflib
import importlib.util
import re

from podracer_core.envs.allowed import allowed_packages
from podracer_core.envs.catalogue import CATALOGUE, CatalogueEntry
from podracer_core.envs.spaces import check_spaces
from podracer_core.envs.wrapped import is_atari
from podracer_core.errors import EnvError, UnknownEnvironmentError

PACKAGES = {"locomotion": ("mujoco", "mujoco"), "box2d": ("Box2D", "'gymnasium[box2d]'")}
"""What the kinds of environments that not every installation can run need: the package, and what brings it."""


def refuse_missing_packages(env_id: str) -> None:
    """Raises EnvError where the package that steps a catalogue entry is not installed; imports nothing."""
    if is_atari(env_id):
        refuse_missing_atari(env_id)
    package, install = PACKAGES.get(CATALOGUE[env_id].kind, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        raise EnvError(
            f"{env_id} needs the Python package {package!r}, which is not installed; "
            f"on every machine that runs it: pip install {install}"
        )


def refuse_missing_atari(env_id: str) -> None:
    """Raises EnvError where a package that plays Atari games is not installed; imports nothing."""
    for module, package in (("ale_py", "ale-py"), ("cv2", "opencv-python-headless")):
        if importlib.util.find_spec(module) is None:
            raise EnvError(
                f"{env_id} needs the Python package {package!r}, which is not installed; "
                "`pip install ale-py opencv-python-headless` brings Atari."
            )


def refuse_module_id(env_id: str) -> None:
    """Raises UnknownEnvironmentError for `module:id`, which would have Gymnasium import any module."""
    if ":" in env_id:
        raise UnknownEnvironmentError(
            f"Environment {env_id!r} names a module to import, which is not allowed; give the id alone, "
            f"like {env_id.rsplit(':', 1)[1]!r}."
        )


def environment_check(env_id: str) -> CatalogueEntry:
    """What `env_id` is: at once for the catalogue; any other registered id is probed in a subprocess, once.

    Raises UnknownEnvironmentError (with the nearest ids), UnsupportedSpaceError, EnvError (it does not start,
    for example because a package is missing; the text says which).
    """
    if env_id in CATALOGUE:
        refuse_missing_packages(env_id)
        return CATALOGUE[env_id]
    refuse_odd_id(env_id)
    if is_atari(env_id):
        refuse_missing_atari(env_id)
    elif not allowed_packages():  # else only the probe knows every id: it may import those packages
        refuse_unknown_id(env_id)
    from podracer_core.envs.probe import probe_environment

    entry = probe_environment(env_id)
    check_spaces(env_id, entry.observation_space, entry.action_space)
    return entry


def refuse_odd_id(env_id: str) -> None:
    """Raises UnknownEnvironmentError for what cannot be an id: those are `name` or `namespace/name`."""
    refuse_module_id(env_id)
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", env_id):
        raise UnknownEnvironmentError(f"Environment {env_id!r} is not known. {suggestion(env_id, list(CATALOGUE))}")


def refuse_unknown_id(env_id: str) -> None:
    """Raises UnknownEnvironmentError, with the nearest ids, where nothing is registered under `env_id`."""
    refuse_module_id(env_id)
    known = registered_ids()
    if env_id not in known:
        raise UnknownEnvironmentError(f"Environment {env_id!r} is not known. {suggestion(env_id, known)}")


def registered_ids() -> list[str]:
    """The catalogue's ids and every id that Gymnasium has registered; imports no environment."""
    import gymnasium

    return list(dict.fromkeys([*CATALOGUE, *gymnasium.registry]))


def suggestion(env_id: str, known: list[str]) -> str:
    """A sentence with the ids nearest to `env_id`, or with the catalogue's where none is near."""
    lower = {name.lower(): name for name in known}
    near = [lower[name] for name in difflib.get_close_matches(env_id.lower(), lower, n=3, cutoff=0.6)]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Known are {', '.join(CATALOGUE)} and every other id that Gymnasium registers."
