"""Very many tournaments and agents written straight into a dashboard's database, for what measures its lists.

Nothing was trained. Rows are as large as real ones: 64 returns of an agent, a screening, hyperparameters, parents.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any

ROUND = 100_000
EPISODES = 64
EVENTS = 100
BATCH = 2000


def tournaments_write(owner: Any, sizes: Sequence[int], *, board: int, points: int) -> list[int]:
    """The ids of finished tournaments of so many agents; the best `board` of each are on its leaderboard.

    points: of each agent's curve
    """
    from django.db import transaction
    from django.utils import timezone

    from webapp.tournaments.models import Tournament

    with transaction.atomic():
        spec, now = _spec(board), timezone.now()
        found = Tournament.objects.bulk_create(
            [_tournament(owner, spec, number, size, now) for number, size in enumerate(sizes)], BATCH
        )
        agents: list[Any] = []
        for tournament, size in zip(found, sizes, strict=True):
            agents += _agents_create(tournament, size)
        _write(_pod(agent) for agent in agents)
        _write(_event(agent) for agent in agents if agent.index < EVENTS)
        _write(entry for tournament in _grouped(agents) for entry in _entries(tournament, board))
        _write(point for agent in agents for point in _curve(agent, points))
    return [tournament.pk for tournament in found]


def analyse() -> None:
    """What autovacuum would have done soon."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


@cache
def _spec(board: int) -> dict[str, Any]:
    from podracer_core.spec_parse import spec_parse

    space = {"learning_rate": {"loguniform": [1e-4, 1e-2]}, "num_epochs": {"int": [2, 12]}}
    algorithms = [{"name": "ppo", "search_space": space}]
    spec = spec_parse({"env_id": "CartPole-v1", "algorithms": algorithms, "leaderboard": {"size": board}})
    return spec.model_dump(mode="json")


def _tournament(owner: Any, spec: dict[str, Any], number: int, size: int, now: datetime) -> Any:
    from webapp.tournaments.models import Tournament

    return Tournament(
        owner=owner,
        name=f"sprint {number} of {size}",
        env_id="CartPole-v1",
        spec=spec,
        status=Tournament.Status.FINISHED,
        reason="The target was reached.",
        archived=number % 10 == 9,
        pool_size=4,
        agents_created=size,
        pods_finished=size,
        started_at=now - timedelta(hours=number + 1),
        finished_at=now - timedelta(hours=number),
        seconds_before=3600,
        best_history=[20.0 * step for step in range(20)],
    )


def _agents_create(tournament: Any, size: int) -> list[Any]:
    from webapp.tournaments.models import Agent

    made = [_agent(tournament, index) for index in range(size)]
    Agent.objects.bulk_create(made, BATCH)
    for agent in made[4:]:
        agent.inherits_from = made[(agent.index - 4) // 2]  # depths as of a tree
        agent.founder_index, agent.depth = agent.inherits_from.founder_index, agent.inherits_from.depth + 1
        agent.base_env_steps = ROUND * agent.depth
    changed = ["inherits_from", "founder_index", "depth", "base_env_steps"]
    Agent.objects.bulk_update(made[4:], changed, BATCH)
    link = Agent.parents.through
    _write(link(from_agent_id=agent.pk, to_agent_id=agent.inherits_from_id) for agent in made[4:])
    return made


def _agent(tournament: Any, index: int) -> Any:
    from webapp.tournaments.models import Agent

    rng = random.Random(index)
    score = 500 * rng.random()
    returns = [min(500.0, max(9.0, rng.gauss(score, 25))) for _ in range(EPISODES)]
    bounds = {"score": score, "score_low": score - 6, "score_high": score + 6}
    return Agent(
        tournament=tournament,
        index=index,
        name=f"{index:04x}",
        algorithm="ppo",
        hyperparameters=_hyperparameters() | {"learning_rate": rng.uniform(1e-4, 1e-2), "num_epochs": index % 12},
        seed=index,
        strategy="fresh" if index < 4 else "exploit",
        founder_index=index,
        changes={} if index < 4 else {"learning_rate": [3e-4, rng.uniform(1e-4, 1e-2)]},
        num_envs=64,
        env_steps=ROUND,
        seconds=18.0,
        **bounds,
        mean=score,
        iqm=score,
        returns=returns,
        screening={**bounds, "episodes": EPISODES // 2},
        scored_at=tournament.finished_at,
        checkpoint_file=f"tournaments/{tournament.pk}/{index}.safetensors",
        checkpoint_sha256="0" * 64,
        checkpoint_size=20_000,
        color=index % 12,
    )


@cache
def _hyperparameters() -> dict[str, Any]:
    from podracer_core.hyperparameters import ALGORITHMS

    return ALGORITHMS["ppo"]().model_dump(mode="json")


def _pod(agent: Any) -> Any:
    from webapp.tournaments.models import Pod

    began = agent.tournament.started_at + timedelta(seconds=agent.index / 10)
    return Pod(
        agent=agent,
        tournament=agent.tournament,
        status=Pod.Status.FINISHED,
        device_kind=Pod.DeviceKind.CPU,
        attempt=1,
        worker="host-1",
        slot=agent.index % 4,
        env_steps_budget=ROUND,
        env_steps=ROUND,
        seconds=18.0,
        env_steps_per_second=5000.0,
        episodic_return=agent.score,
        started_at=began,
        claimed_at=began,
        finished_at=began + timedelta(seconds=18),
    )


def _event(agent: Any) -> Any:
    from webapp.tournaments.models import Event

    text = f"{agent.name} scored {agent.score:.0f} ± 6 and does not enter."
    return Event(tournament=agent.tournament, kind="agent_rejected", text=text, agent=agent)


def _entries(agents: list[Any], board: int) -> Iterator[Any]:
    from webapp.tournaments.models import LeaderboardEntry

    ranked = sorted(agents, key=lambda agent: -agent.score)[:board]
    for rank, agent in enumerate(ranked, start=1):
        yield LeaderboardEntry(tournament=agent.tournament, agent=agent, rank=rank, rank_change=0, beats_next=0.8)


def _curve(agent: Any, points: int) -> Iterator[Any]:
    from webapp.tournaments.models import CurvePoint

    rng = random.Random(agent.index)
    for place in range(1, points + 1):
        share = place / points
        yield CurvePoint(
            agent=agent,
            attempt=1,
            env_steps=round(ROUND * share),
            seconds=18 * share,
            episodic_return=agent.score * share + rng.gauss(0, 8),
            losses={"value_loss": 1 - share},
        )


def _grouped(agents: list[Any]) -> list[list[Any]]:
    found: dict[int, list[Any]] = {}
    for agent in agents:
        found.setdefault(agent.tournament_id, []).append(agent)
    return list(found.values())


def _write(rows: Iterable[Any]) -> None:
    rest = iter(rows)
    while batch := list(islice(rest, BATCH)):
        type(batch[0])._base_manager.bulk_create(batch)
