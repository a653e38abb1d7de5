"""`evaluate`: plays an agent in the real Gymnasium environment, and films it."""

import argparse
import json
from pathlib import Path
from typing import Any

from podracer_core.commands.common import CommandError, check_writable, natural, positive, tell
from podracer_core.envs import known

WHICH = ("first", "best", "median", "worst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", type=Path, help="a .safetensors file")
    parser.add_argument("--episodes", type=positive, default=100)
    parser.add_argument("--seed", type=natural, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--render", type=Path, metavar="VIDEO", help="write an episode to an .mp4 or a .gif")
    parser.add_argument("--render-episode", choices=WHICH, default="first", help="which one, by its return")


def run(options: argparse.Namespace) -> int:
    """Plays whole episodes one after another in the environment that gymnasium.make gives."""
    from podracer_core.checkpoint import load_agent
    from podracer_core.playing import play_episodes
    from podracer_core.tournament.statistics import summarise

    if options.render:
        _check_video(options.render)
    agent = load_agent(options.agent)
    known.environment_check(agent.env_id)
    episodes = play_episodes(agent, options.episodes, options.seed)
    returns, lengths = [one.episodic_return for one in episodes], [one.length for one in episodes]
    evaluation = summarise(returns, lengths, "mean", seed=options.seed)
    answer: dict[str, Any] = {"env_id": agent.env_id, "episodes": evaluation.episodes}
    answer |= {name: getattr(evaluation, name) for name in ("score", "score_low", "score_high")}
    answer["episode_length"] = sum(lengths) / len(lengths)
    if options.render:
        answer["render"] = _render(agent, episodes, options)
    if options.json:
        print(json.dumps(answer, allow_nan=False))
    else:
        print(
            f"{agent.env_id}: score {evaluation.score:.1f} ({evaluation.score_low:.1f} to "
            f"{evaluation.score_high:.1f}) over {evaluation.episodes} episodes of "
            f"{answer['episode_length']:.1f} steps."
        )
    return 0


def _check_video(path: Path) -> None:
    if path.suffix not in (".mp4", ".gif"):
        raise CommandError(f"--render {path} is neither an .mp4 nor a .gif.")
    check_writable(path, "--render")


def _render(agent: Any, episodes: list[Any], options: argparse.Namespace) -> dict[str, Any]:
    """Writes the episode asked for as a video; returns what there is to say of it."""
    from podracer_core.render import choose_episode, render_episode

    rendering = render_episode(agent, choose_episode(episodes, options.render_episode), options.render)
    if not options.json:
        tell(
            f"The {options.render_episode} episode (seed {rendering.seed}, return {rendering.episodic_return:g}, "
            f"{rendering.length} steps) is in {options.render}."
        )
    return rendering._asdict()
