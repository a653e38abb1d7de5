"""A tournament of many agents with long curves, written straight into a running Podracer's database.

    python -m benchmarks.crowd --agents 1000 --points 200 --running 32        prints the tournament's id
    python -m benchmarks.crowd --feed ID --seconds 20 --rate 10               lets its running pods report points

Every curve has spikes, far above and far below what is around them, whose places the seed tells: `spikes_of`. Agents
descend from each other, so that curves lie one behind the other as in a real tournament.
"""

import argparse
import os
import time
from datetime import timedelta
from functools import cache
from random import Random
from typing import Any

ROUND = 100_000
SLOTS = 50
BOARD = 12
SPIKES = 2
"""Of each agent: one up, one down."""

SPIKE = 900.0
BATCH = 5000


def main() -> None:
    options = _parse()
    _set_up_django()
    if options.feed:
        _feed(options.feed, options.seconds, options.rate)
    else:
        print(crowd_make(options.agents, options.points, options.running))


@cache
def spikes_of(index: int, points: int) -> dict[int, float]:
    """Where an agent's curve has its spikes, and what is added there."""
    rng = Random(f"spikes of {index}")
    places = rng.sample(range(points), min(points, SPIKES))
    return {place: SPIKE * (-1) ** number for number, place in enumerate(places)}


def return_of(index: int, depth: int, place: int, points: int) -> float:
    """An agent's return at a place of its curve: it learns from where its parent was, with noise, and has spikes."""
    rng = Random(f"{index} {place}")
    learnt = 1 - 0.75 ** (depth + (place + 1) / points)
    talent = 0.6 + 0.4 * Random(index).random()
    level: float = 500 * learnt * talent
    return level + rng.gauss(0, 8) + spikes_of(index, points).get(place, 0.0)


def crowd_make(agents: int, points: int, running: int) -> int:
    """The id of a running tournament with `agents` agents, of whose pods the last `running` still train."""
    from django.contrib.auth.models import User
    from django.db import transaction
    from django.utils import timezone

    from podracer_core.spec_parse import spec_parse
    from webapp.tournaments.models import Tournament

    spec = spec_parse(
        {
            "name": f"crowd of {agents}",
            "env_id": "CartPole-v1",
            "pool": {"size": max(1, running)},
            "round": {"env_steps": ROUND},
            "leaderboard": {"size": BOARD},
            "stop": {"pods": 10**6, "score": 475},
        }
    )
    owner = User.objects.order_by("pk").first() or User.objects.create_user("owner")
    now = timezone.now()
    with transaction.atomic():
        tournament = Tournament.objects.create(
            owner=owner,
            name=spec.name,
            env_id=spec.env_id,
            spec=spec.model_dump(mode="json"),
            status=Tournament.Status.RUNNING,
            pool_size=max(1, running),
            agents_created=agents,
            started_at=now - timedelta(seconds=100 * agents / SLOTS),
            running_since=now - timedelta(seconds=100 * agents / SLOTS),
        )
        _fill(tournament, agents, points, running)
    return int(tournament.pk)


def _fill(tournament: Any, agents: int, points: int, running: int) -> None:
    from webapp.tournaments.models import Agent, CurvePoint, LeaderboardEntry, Pod

    made: list[Agent] = []
    for index in range(agents):
        made.append(_agent(tournament, index, made, points, finished=index < agents - running))
    Agent.objects.bulk_create(made)
    children = [agent for agent in made if agent.origin]
    for agent in children:
        agent.inherits_from, agent.origin = made[int(agent.origin)], ""
    Agent.objects.bulk_update(children, ["inherits_from", "origin"])
    Pod.objects.bulk_create(_pod(tournament, agent, finished=agent.score is not None) for agent in made)
    ranked = sorted((agent for agent in made if agent.score is not None), key=lambda agent: -(agent.score or 0))[:BOARD]
    for rank, agent in enumerate(ranked, start=1):
        agent.color = rank - 1
        agent.save(update_fields=["color"])
        LeaderboardEntry.objects.create(tournament=tournament, agent=agent, rank=rank, beats_next=0.8)
    rows: list[CurvePoint] = []
    for agent in made:
        for place in range(points if agent.score is not None else points // 2):
            rows.append(_point(agent, place, points))
            if len(rows) == BATCH:
                CurvePoint.objects.bulk_create(rows)
                rows.clear()
    CurvePoint.objects.bulk_create(rows)


def _agent(tournament: Any, index: int, earlier: list[Any], points: int, *, finished: bool) -> Any:
    from webapp.tournaments.models import Agent

    rng = Random(index)
    # Whoever is in the pool at the same time cannot be a parent yet.
    parent = rng.choice(earlier[-3 * SLOTS : -SLOTS]) if index >= 2 * SLOTS and rng.random() < 0.9 else None
    depth = parent.depth + 1 if parent else 0
    score = 500 * (1 - 0.75 ** (depth + 1)) * (0.6 + 0.4 * Random(index).random()) if finished else None
    return Agent(
        tournament=tournament,
        index=index,
        name=f"{index:04x}",
        algorithm="ppo",
        hyperparameters={"learning_rate": 3e-4},
        seed=index,
        strategy="exploit" if parent else "fresh",
        founder_index=parent.founder_index if parent else index,
        origin=str(parent.index) if parent else "",
        depth=depth,
        base_env_steps=parent.base_env_steps + ROUND if parent else 0,
        env_steps=ROUND if finished else 0,
        score=score,
        score_low=None if score is None else score - 10,
        score_high=None if score is None else score + 10,
        returns=[] if score is None else [score] * 8,
    )


def _pod(tournament: Any, agent: Any, *, finished: bool) -> Any:
    from webapp.tournaments.models import Pod

    began = tournament.started_at + timedelta(seconds=100 * (agent.index // SLOTS))
    return Pod(
        agent=agent,
        tournament=tournament,
        status=Pod.Status.FINISHED if finished else Pod.Status.RUNNING,
        device_kind=Pod.DeviceKind.CPU,
        attempt=1,
        lease_until=None if finished else began + timedelta(days=30),
        worker="crowd",
        slot=agent.index % SLOTS,
        env_steps_budget=ROUND,
        env_steps=ROUND if finished else ROUND // 2,
        seconds=100.0 if finished else 50.0,
        started_at=began,
        claimed_at=began,
        finished_at=began + timedelta(seconds=100) if finished else None,
    )


def _point(agent: Any, place: int, points: int) -> Any:
    from webapp.tournaments.models import CurvePoint

    share = (place + 1) / points
    return CurvePoint(
        agent=agent,
        attempt=1,
        env_steps=round(ROUND * share),
        seconds=100 * share,
        episodic_return=return_of(agent.index, agent.depth, place, points),
        losses={"value_loss": 1 - share},
    )


def _feed(tournament_id: int, seconds: float, rate: float) -> None:
    """Let every running pod report `rate` points a second, as its worker would."""
    from podracer_core.progress import Progress
    from webapp.tournaments import orchestrator
    from webapp.tournaments.claims import Report
    from webapp.tournaments.models import Pod

    pods = list(Pod.objects.filter(tournament=tournament_id, status=Pod.Status.RUNNING).select_related("agent"))
    began, rounds = time.monotonic(), 0
    while (elapsed := time.monotonic() - began) < seconds:
        rounds += 1
        reports = []
        for pod in pods:
            env_steps = ROUND // 2 + 100 * rounds
            value = return_of(pod.agent.index, pod.agent.depth, env_steps, ROUND)
            point = Progress(env_steps, env_steps / 1000, 1000.0, value, sent_at=time.time())
            reports.append(Report(pod.pk, pod.attempt, [point]))
        orchestrator.pods_progress(reports)
        time.sleep(max(0.0, rounds / rate - (time.monotonic() - began)))
    print(f"{rounds * len(pods) / elapsed:.0f} points/s")


def _set_up_django() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    django.setup()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--points", type=int, default=200, help="of each curve")
    parser.add_argument("--running", type=int, default=32, help="pods that still train, half-way through")
    parser.add_argument("--feed", type=int, metavar="ID", help="let the running pods of this tournament report")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=10.0, help="points a second of each pod")
    return parser.parse_args()


if __name__ == "__main__":
    main()
