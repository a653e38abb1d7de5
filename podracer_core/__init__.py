"""Podracer's reinforcement-learning engine, usable with no web and no database.

`load_agent` is resolved on first use, so that importing the package does not import torch.
"""

from typing import Any

__all__ = ["load_agent"]


def __getattr__(name: str) -> Any:
    if name == "load_agent":
        from podracer_core.checkpoint import load_agent

        return load_agent
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
