"""The child that makes one export, replay or ensemble: `python -m workers.artefact_process JOB`, JOB being JSON.

It owns torch and the renderer, and gives way to training. Prints JSON lines: {"progress": share} now and then, last
{"done": details} or {"error": sentence}. Whatever else libraries print is not JSON of these kinds.
"""

import json
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from podracer_core.errors import PodracerError

logger = logging.getLogger(__name__)

EPISODES = 20
"""Played before a replay, to know which is the best, the median and the worst."""

SEED = 1
"""The same episodes for all replays of an agent, so that they can be compared."""

NICENESS = 10


def main(arguments: list[str]) -> int:
    job = json.loads(arguments[0])
    os.nice(NICENESS)
    os.chdir(Path(job["out"]).parent)  # where MuJoCo, say, may leave its log
    try:
        _say({"done": _MAKE[job["kind"]](job)})
    except (PodracerError, OSError) as error:
        _say({"error": str(error)})
        return 1
    except Exception as error:  # a fault of ours must reach the person who waits
        logger.exception("The artefact failed in a way that it does not know.")
        _say({"error": f"Internal error: {type(error).__name__}: {error}"})
        return 1
    return 0


def _export(job: dict[str, Any]) -> dict[str, Any]:
    from podracer_core.checkpoint import load_agent
    from podracer_core.export import export_agent

    return export_agent(load_agent(job["checkpoints"][0]), job["name"], Path(job["out"]))


def _replay(job: dict[str, Any]) -> dict[str, Any]:
    from podracer_core.checkpoint import load_agent
    from podracer_core.playing import play_episodes
    from podracer_core.render import choose_episode, render_episode

    agent = load_agent(job["checkpoints"][0])
    episode = choose_episode(play_episodes(agent, EPISODES, SEED), job["name"])
    rendering = render_episode(agent, episode, Path(job["out"]), poster=Path(job["poster"]), progress=_progress())
    return {"episodes": EPISODES, **rendering._asdict()}


def _ensemble(job: dict[str, Any]) -> dict[str, Any]:
    """Answers an Evaluation."""
    from podracer_core.ensemble_build import build_ensemble

    evaluation = build_ensemble(
        job["checkpoints"],
        Path(job["out"]),
        lineage=job["lineage"],
        episodes=job["episodes"],
        seed=job["seed"],
        kind=job["score"],
        progress=_progress(),
    )
    return asdict(evaluation)


_MAKE = {"export": _export, "replay": _replay, "ensemble": _ensemble}


def _progress() -> Callable[[float], None]:
    """Says the share that is done, wherever that is another percent."""
    shown = 0.0

    def progress(share: float) -> None:
        nonlocal shown
        if share - shown >= 0.01:
            shown = share
            _say({"progress": round(share, 3)})

    return progress


def _say(message: dict[str, Any]) -> None:
    # Not sys.stdout, which is turned elsewhere while libraries would print.
    print(json.dumps(message, allow_nan=False), file=sys.__stdout__, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
