"""`play`: an agent in a window, episode after episode."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from podracer_core.commands.common import CommandError, natural, positive
from podracer_core.errors import PodracerError, RenderError

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", type=Path, help="a .safetensors file")
    parser.add_argument("--episodes", type=positive, default=5)
    parser.add_argument("--seed", type=natural, default=1)


def run(options: argparse.Namespace) -> int:
    from podracer_core.checkpoint import load_agent

    agent = load_agent(options.agent)
    if sys.platform == "linux" and not any(os.environ.get(name) for name in SCREENS):
        raise CommandError("There is no screen here to play on; `evaluate --render episode.mp4` films an episode.")
    env = _window(agent)
    try:
        _play(env, agent, options)
    except KeyboardInterrupt:
        pass
    finally:
        env.close()
    return 0


def _window(agent: Any) -> Any:
    """The environment as a person sees it. Raises EnvError, RenderError where it opens no window."""
    from podracer_core.envs.wrapped import make_env

    try:
        return make_env(agent.metadata, render_mode="human")
    except PodracerError:
        raise
    except Exception as error:  # whatever a graphics library raises
        raise RenderError(f"{agent.env_id} opens no window here: {' '.join(str(error).split())[:300]}.") from error


def _play(env: Any, agent: Any, options: argparse.Namespace) -> None:
    import numpy as np

    from podracer_core.playing import play_episode

    seeds = np.random.SeedSequence(options.seed).generate_state(options.episodes)
    for number, seed in enumerate(seeds, start=1):
        episode = play_episode(env, agent, int(seed))
        print(f"episode {number}: return {episode.episodic_return:g}, {episode.length} steps", flush=True)
