"""The Gymnasium wrappers between an environment and what an agent sees of it, as data. No torch.

Only wrappers named in WRAPPERS are ever applied: a checkpoint may come from anywhere, and some of Gymnasium's write
files. An environment of one's own may bring others along: `gymnasium.register(..., additional_wrappers=...)`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from podracer_core.errors import CheckpointError, EnvError, RenderError

if TYPE_CHECKING:
    import gymnasium

WRAPPERS = ("AtariPreprocessing", "FrameStackObservation")

ATARI_FRAME_SKIP = 4


class Wrapping(NamedTuple):
    """What goes around an environment. env_kwargs: for gymnasium.make; wrappers: {"name", "kwargs"}, innermost first"""

    env_kwargs: dict[str, Any]
    wrappers: list[dict[str, Any]]

    def apply(self, env: "gymnasium.Env[Any, Any]") -> "gymnasium.Env[Any, Any]":
        """Raises EnvError for a wrapper that is not among WRAPPERS."""
        import gymnasium.wrappers

        for wrapper in self.wrappers:
            if wrapper["name"] not in WRAPPERS:
                raise EnvError(f"The wrapper {wrapper['name']!r} is not one of {', '.join(WRAPPERS)}.")
            env = getattr(gymnasium.wrappers, wrapper["name"])(env, **wrapper["kwargs"])
        return env

    def code(self, env_id: str) -> str:
        """Lines of Python that make `env` of `gym`, for who has Gymnasium and no Podracer."""
        lines = ["import ale_py", "gym.register_envs(ale_py)"] if is_atari(env_id) else []
        lines.append(f"env = gym.make({_arguments([env_id], self.env_kwargs)})")
        for wrapper in self.wrappers:
            lines.append(f"env = gym.wrappers.{wrapper['name']}(env, {_arguments([], wrapper['kwargs'])})")
        return "\n".join(lines)


def _arguments(values: list[Any], named: Mapping[str, Any]) -> str:
    return ", ".join([*map(json.dumps, values), *(f"{name}={value!r}" for name, value in named.items())])


def is_atari(env_id: str) -> bool:
    return env_id.startswith("ALE/")


def wrapping_of(env_id: str, frame_stack: int = 1) -> Wrapping:
    """What agents see `env_id` through.

    Atari: as Machado et al. 2018 (arXiv 1709.06009) evaluate. Every action holds for 4 frames and sticks as the id
    says; an observation is the brighter of the last two frames at each pixel, grey, 84 x 84. No random start (sticky
    actions take its place), no end at the loss of a life.
    """
    env_kwargs: dict[str, Any] = {}
    wrappers: list[dict[str, Any]] = []
    if is_atari(env_id):
        env_kwargs = {"frameskip": 1}
        kwargs = {"noop_max": 0, "frame_skip": ATARI_FRAME_SKIP, "screen_size": 84, "grayscale_obs": True}
        wrappers.append({"name": "AtariPreprocessing", "kwargs": kwargs})
    if frame_stack > 1:
        wrappers.append({"name": "FrameStackObservation", "kwargs": {"stack_size": frame_stack}})
    return Wrapping(env_kwargs, wrappers)


def make_env(agent: "str | Path | Mapping[str, Any]", **kwargs: Any) -> "gymnasium.Env[Any, Any]":
    """The Gymnasium environment that an agent plays, with the wrappers through which it sees.

    agent: a checkpoint's path, or its metadata, such as `load_agent(path).metadata`
    kwargs: for gymnasium.make, such as render_mode
    Raises CheckpointError for a file that is none, EnvError where the environment does not start, RenderError where
    it takes no render_mode that was given.
    """
    from podracer_core.checkpoint import load_agent
    from podracer_core.envs.spaces import make_single

    metadata = agent if isinstance(agent, Mapping) else load_agent(agent).metadata
    env_kwargs, wrappers = metadata.get("env_kwargs") or {}, metadata.get("wrappers") or []
    if not set(env_kwargs) <= {"frameskip"}:
        raise CheckpointError(f"The agent asks for the environment with {env_kwargs}; only frameskip may be set.")
    env_id = metadata["env_id"]
    try:
        return Wrapping(env_kwargs, wrappers).apply(make_single(env_id, **env_kwargs, **kwargs))
    except TypeError as error:
        if "render_mode" in kwargs and "argument 'render_mode'" in str(error):
            raise RenderError(f"{env_id} draws no pictures: its __init__ takes no render_mode.") from error
        raise
