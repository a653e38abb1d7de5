"""The ensemble that a tournament without a server ends with, where its specification asks for one."""

import time
from collections.abc import Callable
from typing import cast

from podracer_core.ensemble_build import build_ensemble
from podracer_core.errors import PodracerError
from podracer_core.local.home import CHECKPOINT, Home
from podracer_core.local.records import EnsembleRecord, EventRecord, Record, TournamentRecord
from podracer_core.spec import ScoreKind, TournamentSpec
from podracer_core.tournament import ensembles, sentences

FAILED = "ensemble_failed"


def ensemble_at_end(
    spec: TournamentSpec, home: Home, tournament: TournamentRecord, progress: Callable[[float], None]
) -> list[Record]:
    """Makes and evaluates it; what it raises goes through from `progress` alone. Returns what to write down."""
    standing = [row.agent for row in tournament.leaderboard if home.checkpoint_file(row.agent)]
    size = ensembles.size_at_end(spec, len(standing))
    if not size:
        if any(event.kind == FAILED for event in home.events):
            return []
        return [EventRecord(time.time(), FAILED, sentences.no_ensemble(len(standing)))]
    members, name = standing[:size], ensembles.ensemble_name(0)
    names = [home.agents[index].name for index in members]
    seed, path = ensembles.evaluation_seed(spec, 0), home.ensemble_file(0)
    lineage = {"tournament": spec.name, "agent": name, "parents": names, "strategy": "ensemble"}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        evaluation = build_ensemble(
            [home.agent_folder(index) / CHECKPOINT for index in members],
            path,
            lineage=lineage,
            episodes=ensembles.evaluation_episodes(spec),
            seed=seed,
            kind=cast(ScoreKind, spec.leaderboard.score),
            progress=progress,
        )
    except (PodracerError, OSError) as error:
        return [EventRecord(time.time(), FAILED, sentences.ensemble_failed(name, names, str(error)))]
    best = home.agents[members[0]].entry.score
    text = sentences.ensemble_made(name, names, evaluation, best)
    record = EnsembleRecord.of_evaluation(name, members, seed, evaluation)
    return [record, EventRecord(time.time(), "ensemble_made", text)]
