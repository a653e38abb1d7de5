"""One checkpoint of several, with what it is worth: made beside a tournament, from its agents' checkpoints."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from podracer_core.checkpoint import load_agent
from podracer_core.ensemble import make_ensemble, save_ensemble
from podracer_core.errors import EnvError
from podracer_core.playing import play_episodes
from podracer_core.progress import Evaluation
from podracer_core.spec import ScoreKind
from podracer_core.tournament.statistics import summarise


def build_ensemble(
    paths: Sequence[str | Path],
    out: Path,
    *,
    lineage: Mapping[str, Any],
    episodes: int,
    seed: int,
    kind: ScoreKind,
    progress: Callable[[float], None] = lambda share: None,
) -> Evaluation:
    """Writes one policy of the agents in `paths`, the best first, scored by `episodes` in the real environment.

    progress: told the share of the episodes that is played
    Raises CheckpointError, EnvError, OSError.
    """
    ensemble = make_ensemble([load_agent(path) for path in paths], lineage)
    played = play_episodes(ensemble, episodes, seed, progress)
    evaluation = summarise([one.episodic_return for one in played], [one.length for one in played], kind, seed=seed)
    if not math.isfinite(evaluation.score):
        raise EnvError(f"{ensemble.env_id} gave a return that is no finite number.")
    shown = ("score", "score_low", "score_high", "episodes")
    ensemble.metadata["score"] = {name: getattr(evaluation, name) for name in shown}
    save_ensemble(ensemble, out)
    return evaluation
