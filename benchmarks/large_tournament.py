"""A tournament of any size written straight into a dashboard's database, for what measures its pages.

    python -m benchmarks.large_tournament --agents 1000 --board 8 --name "ant sprint"

Run it where `manage.py` would work, as with a running stack's environment; prints the tournament's id. Nothing was
trained: scores follow from learning_rate and the parents' scores, with luck, so that charts have something to show.
"""

import argparse
import math
import os
import random
from datetime import datetime, timedelta
from typing import Any

import django

ROUND = 100_000
SECONDS = 18.0
EPISODES = 16
SPACES = {
    "ppo": {
        "learning_rate": {"loguniform": [1e-4, 1e-2]},
        "ent_coef": {"loguniform": [1e-5, 1e-2]},
        "gae_lambda": {"uniform": [0.8, 1.0]},
        "clip_coef": {"choice": [0.1, 0.2, 0.3]},
        "num_epochs": {"int": [2, 12]},
    },
    "a2c": {"learning_rate": {"loguniform": [1e-4, 1e-2]}, "ent_coef": {"loguniform": [1e-5, 1e-2]}},
}


def create(*, agents: int, board: int, name: str, workers: int, points: int, running: int, seed: int) -> int:
    from webapp.tournaments import services
    from webapp.tournaments.clock import database_now
    from webapp.tournaments.models import Tournament

    rng = random.Random(seed)
    began = database_now() - timedelta(seconds=agents / (2 * workers) * SECONDS + 60)
    tournament = services.tournament_create(owner=_owner(), spec=_spec(name, board, agents + running), start=False)
    population = _population(tournament, rng, agents + running, running, workers, began)
    ranked = sorted((a for a in population if a.score is not None), key=lambda a: -a.score)[:board]
    _write(tournament, population, ranked, rng, points)
    status = {"status": "RUNNING", "running_since": began} if running else {"status": "FINISHED"}
    ended = None if running else max(a.pod_row.finished_at for a in population)
    best = [ranked[-1].score + (ranked[0].score - ranked[-1].score) * i / 12 for i in range(13)]
    Tournament.objects.filter(pk=tournament.pk).update(
        **status,
        started_at=began,
        finished_at=ended,
        seconds_before=(ended - began).total_seconds() if ended else 0,
        best_history=best,
        agents_created=len(population),
    )
    return tournament.pk


def _owner() -> Any:
    from django.contrib.auth.models import User

    return User.objects.order_by("pk").first() or User.objects.create(username="owner")


def _spec(name: str, board: int, agents: int) -> Any:
    from podracer_core.spec_parse import spec_parse

    algorithms = [{"name": key, "search_space": space} for key, space in SPACES.items()]
    return spec_parse(
        {"name": name, "env_id": "CartPole-v1", "algorithms": algorithms, "leaderboard": {"size": board},
         "round": {"env_steps": ROUND}, "stop": {"score": 475, "pods": agents + 200}}
    )  # fmt: skip


def _population(tournament: Any, rng: random.Random, count: int, running: int, workers: int, began: datetime) -> Any:
    from podracer_core.search_space import SearchSpace
    from podracer_core.tournament.names import agent_name
    from webapp.tournaments.models import Agent, Pod

    free = [
        [began + timedelta(seconds=rng.uniform(0, 3)), f"host-{tournament.pk}{chr(97 + w)}", slot]
        for w in range(workers)
        for slot in (0, 1)
    ]
    everyone: list[Any] = []
    names: set[str] = set()
    for index in range(count):
        slot = min(free, key=lambda one: one[0])
        seen = [a for a in everyone if a.score is not None and a.pod_row.finished_at <= slot[0]]
        best = sorted(seen, key=lambda a: -a.score)[:12]
        parent = rng.choice(best) if best and rng.random() > 0.2 else None
        algorithm = parent.algorithm if parent else rng.choice(list(SPACES))
        spaces = {key: SearchSpace.model_validate(space) for key, space in SPACES[algorithm].items()}
        values = dict(parent.hyperparameters if parent else tournament.parsed_spec.search_space(algorithm))
        values = {key: getattr(value, "values", (value,))[0] for key, value in values.items()}
        changes = {}
        for key, space in spaces.items():
            moved = space.sample(rng) if parent is None else space.perturb(values[key], rng)
            if parent is None or rng.random() < 0.5:
                changes[key] = [values[key], moved]
                values[key] = moved
        agent = Agent(
            tournament=tournament, index=index, name=agent_name(str(tournament.pk), index, names), algorithm=algorithm,
            hyperparameters=values, seed=index, strategy="exploit" if parent else "fresh", inherits_from=parent,
            founder_index=parent.founder_index if parent else index, depth=parent.depth + 1 if parent else 0,
            changes=changes if parent else {}, base_env_steps=parent.base_env_steps + ROUND if parent else 0,
            env_steps=ROUND, seconds=SECONDS,
        )  # fmt: skip
        begin = slot[0] + timedelta(seconds=rng.choice([0.2, 0.3, 0.4, 6.0]))
        state = "RUNNING" if index >= count - running else "FAILED" if rng.random() < 0.03 else "FINISHED"
        slot[0] = end = begin + timedelta(seconds=SECONDS * rng.uniform(0.7, 1.6))
        agent.pod_row = Pod(
            agent=agent, tournament=tournament, status=state, device_kind="cpu", attempt=rng.choice([1] * 30 + [2]),
            worker=slot[1], slot=slot[2], env_steps=ROUND, env_steps_budget=ROUND, seconds=SECONDS, started_at=begin,
            claimed_at=begin, finished_at=None if state == "RUNNING" else end,
            lease_until=began + timedelta(days=9) if state == "RUNNING" else None,
            reason="The loss was NaN." if state == "FAILED" else "",
        )  # fmt: skip
        if state == "FINISHED":
            _score(agent, parent, rng)
        everyone.append(agent)
        names.add(agent.name)
    return everyone


def _score(agent: Any, parent: Any, rng: random.Random) -> None:
    from podracer_core.tournament.statistics import summarise

    rate = agent.hyperparameters["learning_rate"]
    goal = 500 * math.exp(-((math.log10(rate) + 2.9) ** 2)) - 40 * (agent.hyperparameters.get("clip_coef") == 0.3)
    start = parent.score if parent else 20.0
    level = start + (goal - start) * 0.22 + rng.gauss(0, 12)
    returns = [min(500.0, max(9.0, rng.gauss(level, 25))) for _ in range(2 * EPISODES)]
    again = summarise(returns, [100] * len(returns))
    agent.returns, agent.score, agent.score_low, agent.score_high = (
        returns,
        again.score,
        again.score_low,
        again.score_high,
    )
    agent.mean, agent.iqm, agent.scored_at = again.mean, again.iqm, agent.pod_row.finished_at
    first = summarise(returns[:EPISODES], [100] * EPISODES)
    agent.screening = {"score": first.score, "score_low": first.score_low, "score_high": first.score_high,
                       "episodes": EPISODES}  # fmt: skip


def _write(tournament: Any, population: Any, ranked: Any, rng: random.Random, points: int) -> None:
    from podracer_core.tournament.statistics import probability_better
    from webapp.tournaments.models import Agent, CurvePoint, Event, LeaderboardEntry, Pod

    for rank, agent in enumerate(ranked):
        agent.color = rank % 12
    for agent in population:  # one by one: a child needs its parent's id
        agent.inherits_from_id = agent.inherits_from.pk if agent.inherits_from else None
        agent.save(force_insert=True)
        agent.pod_row.agent_id = agent.pk
    through = Agent.parents.through
    through.objects.bulk_create(
        through(from_agent_id=a.pk, to_agent_id=a.inherits_from_id) for a in population if a.inherits_from_id
    )
    Pod.objects.bulk_create([agent.pod_row for agent in population])
    LeaderboardEntry.objects.bulk_create(
        LeaderboardEntry(
            tournament=tournament, agent=agent, rank=rank, rank_change=rng.choice([None, 0, 0, 1, -1]),
            beats_next=probability_better(agent.returns, below.returns) if below else None,
        )
        for rank, (agent, below) in enumerate(zip(ranked, [*ranked[1:], None], strict=True), start=1)
    )  # fmt: skip
    CurvePoint.objects.bulk_create(
        (
            CurvePoint(
                agent=agent, attempt=1, env_steps=ROUND * step // points, seconds=SECONDS * step / points,
                episodic_return=(agent.score or 20) * (0.6 + 0.4 * step / points) + rng.gauss(0, 8),
            )
            for agent in population
            for step in range(1, points + 1)
        ),
        batch_size=5000,
    )  # fmt: skip
    for agent in population[-60:]:
        Event.objects.create(
            tournament=tournament, kind="agent_rejected", agent=agent, text=f"{agent.name} does not enter."
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a large tournament into the database.")
    parser.add_argument("--agents", type=int, default=1000, help="that have ended")
    parser.add_argument("--board", type=int, default=8)
    parser.add_argument("--name", default="a large one")
    parser.add_argument("--workers", type=int, default=2, help="of two slots each")
    parser.add_argument("--points", type=int, default=40, help="of each curve")
    parser.add_argument("--running", type=int, default=0, help="pods that seem to train; 0 for a finished tournament")
    parser.add_argument("--seed", type=int, default=1)
    os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    django.setup()
    print(create(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
