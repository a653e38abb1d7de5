"""A tournament as one zip of event files, a run for each agent, written piece by piece."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from podracer_core.tensorboard.run import BATCH, Evaluation, Point, Run, event_file, run_name
from webapp.tournaments.models import Agent, CurvePoint, LeaderboardEntry, Pod, Tournament

AGENTS = 200
"""In memory at once."""

_COLUMNS = (
    *("index", "name", "algorithm", "strategy", "depth", "num_envs", "hyperparameters", "base_env_steps", "env_steps"),
    *("score", "score_low", "score_high", "mean", "iqm", "scored_at", "created_at", "tournament_id"),
    *("pod__status", "pod__started_at", "pod__finished_at", "pod__seconds", "entry__rank"),
)


def tournament_tensorboard(tournament_id: int) -> Iterator[bytes]:
    """The folder `tournament-ID` with board/RANK-NAME of the agents on the leaderboard and others/NAME of the others.

    In few queries, however many agents there are. Raises Tournament.DoesNotExist before the first piece.
    """
    return _pieces(Tournament.objects.get(pk=tournament_id))


def _pieces(tournament: Tournament) -> Iterator[bytes]:
    board_size = LeaderboardEntry.objects.filter(tournament=tournament).count()
    held = _Held()
    with ZipFile(held, "w") as archive:  # type: ignore[call-overload]
        for agent, points in _agents(tournament):
            run = _run(agent)
            entry = getattr(agent, "entry", None)
            name = run_name(agent.name, entry.rank if entry else None, board_size)
            info = ZipInfo(f"tournament-{tournament.pk}/{name}/{run.filename}", _moment(run.started_at))
            info.compress_type = ZIP_DEFLATED
            with archive.open(info, "w") as file:
                for piece in event_file(run, points):
                    file.write(piece)
                    yield held.take()
    yield held.take()


class _Held:
    """A file to write to, whose content is taken away now and then."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken, self._pieces = self._pieces, []
        return b"".join(taken)


def _moment(unix_time: float) -> tuple[int, int, int, int, int, int]:
    moment = datetime.fromtimestamp(unix_time, UTC)
    return (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second)


def _agents(tournament: Tournament) -> Iterator[tuple[Agent, Iterator[Point]]]:
    """Each agent with its curve, the eldest first. Both are read side by side, neither is ever whole in memory."""
    agents = Agent.objects.filter(tournament=tournament).select_related("pod", "entry").only(*_COLUMNS)
    curves = groupby(_points(tournament), key=lambda point: point[0])
    following: Any = next(curves, None)
    for agent in agents.order_by("index").iterator(chunk_size=AGENTS):
        agent.tournament = tournament
        if following is not None and following[0] == agent.pk:
            yield agent, (point[1:] for point in following[1])
            following = next(curves, None)
        else:
            yield agent, iter(())


def _points(tournament: Tournament) -> Iterator[Any]:
    points = CurvePoint.objects.filter(agent__tournament=tournament, agent__kind=Agent.Kind.AGENT)
    ordered = points.order_by("agent__index", "env_steps", "attempt")
    columns = ordered.values_list("agent_id", "env_steps", "seconds", "episodic_return", "losses")
    return columns.iterator(chunk_size=BATCH)


def _run(agent: Agent) -> Run:
    pod = agent.pod
    ended = pod.finished_at.timestamp() if pod.finished_at else None
    if pod.started_at:
        began = pod.started_at.timestamp()
    else:  # it waits, or ran elsewhere
        began = agent.created_at.timestamp() if ended is None else ended - pod.seconds
    numbers = {name: getattr(agent, name) for name in ("score", "score_low", "score_high", "mean", "iqm")}
    at = agent.scored_at.timestamp() if agent.scored_at else ended
    scored = agent.score is not None and at is not None
    return Run(
        started_at=began,
        hyperparameters={
            **{name: getattr(agent, name) for name in ("algorithm", "strategy", "depth")},
            "num_envs": agent.envs,
            **agent.hyperparameters,
        },
        base_env_steps=agent.base_env_steps,
        evaluation=Evaluation(at or began, agent.env_steps, numbers) if scored else None,
        ended_at=ended,
        failed=pod.status == Pod.Status.FAILED,
    )
