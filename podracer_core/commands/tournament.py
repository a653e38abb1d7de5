"""`python -m podracer_core tournament spec.toml --home DIR`: a tournament with no server."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podracer_core.commands.common import FAILED, CommandError, check_threads, positive, tell
from podracer_core.local.display import Lines, Screen
from podracer_core.local.records import EnsembleRecord, PodStatus, TournamentStatus
from podracer_core.local.tournament import LocalTournament
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse_json, spec_parse_toml

PAUSED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="a .toml or .json file, as DESIGN.md writes it")
    parser.add_argument("--home", type=Path, required=True, help="its folder; a tournament that is there goes on")
    parser.add_argument("--slots", type=positive, help="pods trained at once; else one for each core")
    parser.add_argument("--threads", type=positive, default=1, help="CPU threads a pod")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout, nothing else")


def run(options: argparse.Namespace) -> int:
    """Exit status 0 when it finished, 1 when it failed, 130 when Ctrl-C paused it. Raises PodracerError."""
    check_threads(options.threads)
    spec = read_spec(options.spec)
    if spec.pool.device == "cuda":
        from podracer_core.device import resolve_device  # PyTorch, which the pods alone need otherwise

        resolve_device("cuda")
    slots = options.slots or max(1, (os.cpu_count() or 1) // options.threads)
    tournament = LocalTournament(
        spec, options.home, slots=slots, threads=options.threads, watch=_watch(quiet=options.json)
    )
    _pause_on_ctrl_c(tournament)
    record = tournament.run()
    if not options.json:
        _tell(tournament)
    print(json.dumps(summary(tournament), allow_nan=False), flush=True)
    return {TournamentStatus.FINISHED: 0, TournamentStatus.PAUSED: PAUSED}.get(record.status, FAILED)


def read_spec(path: Path) -> TournamentSpec:
    """Raises CommandError for a file that cannot be read, SpecError for what is in it."""
    try:
        body = path.read_bytes()
    except OSError as error:
        raise CommandError(f"The specification {path} cannot be read: {error.strerror}.") from None
    return spec_parse_json(body) if path.suffix == ".json" else spec_parse_toml(body)


def summary(tournament: LocalTournament) -> dict[str, Any]:
    """What the final JSON line says; scores as on the leaderboard."""
    agents = tournament.agents
    rows = [
        {
            "rank": rank,
            "agent": agents[row.agent].name,
            "algorithm": agents[row.agent].algorithm,
            **{name: getattr(agents[row.agent], name) for name in ("score", "score_low", "score_high")},
            "episodes": len(agents[row.agent].returns),
            "beats_next": row.beats_next,
            "parents": [agents[index].name for index in agents[row.agent].parents],
            "checkpoint": str(tournament.home.checkpoint_file(row.agent)),
        }
        for rank, row in enumerate(tournament.record.leaderboard, start=1)
    ]
    return {
        "name": tournament.spec.name,
        "env_id": tournament.spec.env_id,
        "status": tournament.record.status,
        "reason": tournament.record.reason,
        "seconds": round(tournament.record.seconds, 3),
        "env_steps": tournament.env_steps,
        "pods": {status.lower(): len(tournament.pods(status)) for status in PodStatus},
        "leaderboard": rows,
        "ensembles": [_ensemble(tournament, one) for one in tournament.home.ensembles.values()],
    }


def _ensemble(tournament: LocalTournament, one: EnsembleRecord) -> dict[str, Any]:
    return {
        "name": one.name,
        "members": [tournament.agents[index].name for index in one.members],
        **{name: getattr(one, name) for name in ("score", "score_low", "score_high")},
        "episodes": len(one.returns),
        "checkpoint": str(tournament.home.ensemble_file(one.index)),
    }


def _watch(*, quiet: bool) -> Callable[[LocalTournament], None]:
    if quiet:
        return lambda tournament: None
    return Screen(sys.stderr) if sys.stderr.isatty() else Lines(sys.stderr)


def _pause_on_ctrl_c(tournament: LocalTournament) -> None:
    """The first Ctrl-C (or SIGTERM) saves and pauses, the second ends the program."""

    def pause(signum: int, frame: Any) -> None:
        tournament.pause()
        signal.signal(signum, signal.SIG_DFL)

    signal.signal(signal.SIGINT, pause)
    signal.signal(signal.SIGTERM, pause)


def _tell(tournament: LocalTournament) -> None:
    record, best = tournament.record, tournament.record.leaderboard[:1]
    text = f"{record.status.capitalize()}: {record.reason}" if record.reason else f"{record.status.capitalize()}."
    if record.status is TournamentStatus.PAUSED:
        text += " The same command goes on from here."
    for row in best:
        text += f" The best agent is in {tournament.home.checkpoint_file(row.agent)}."
    for index in tournament.home.ensembles:
        text += f" The ensemble is in {tournament.home.ensemble_file(index)}."
    tell(text)
