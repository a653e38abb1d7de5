"""Podracer's reinforcement-learning engine, usable with no web and no database.

`load_agent` and `make_env` are resolved on first use, so that importing the package imports next to nothing.
"""

from typing import Any

__all__ = ["load_agent", "make_env"]


def __getattr__(name: str) -> Any:
    if name == "load_agent":
        from podracer_core.checkpoint import load_agent

        return load_agent
    if name == "make_env":
        from podracer_core.envs.wrapped import make_env

        return make_env
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
