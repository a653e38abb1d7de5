"""What a finished pod costs after so many past agents, in each mode.

    python -m benchmarks.orchestrator --history 100000

Past agents, their pods, events, curves and lineage are written straight into the database. Then pods are claimed,
report, and are handed in one after another, with no worker, and CPU time is counted: Python's here, SQL's in the
backend of this connection. A decision is the whole of `pod_finish`: rank, generate, update, with the new pod queued,
events written and the next pod claimed.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

SIZES = (1_000, 10_000, 100_000)
PLACES = 8
STRATEGIES = dict.fromkeys(("fresh", "exploit", "continue", "crossover", "fuse", "rerun"), 1)
MODES: dict[str, dict[str, Any]] = {
    "asynchronous": {"mode": "asynchronous", "strategies": STRATEGIES},
    "generational": {"mode": "generational"},
    "random_search": {"mode": "random_search"},
    "successive_halving": {"mode": "successive_halving"},
}
POOL = 4
WARM_PODS, PODS = 20, 200
VIEWS = 20
MOST_GROWTH = 1.5
"""Of whatever is measured, from the shortest history to the longest."""

PAST = """
    INSERT INTO tournaments_agent ({columns}) SELECT {values}
    FROM (SELECT * FROM tournaments_agent WHERE tournament_id = %(tournament)s) past,
        generate_series(1, %(agents)s - 1) n
"""
PAST_VALUES = {
    "id": "past.id + n",
    "index": "n",
    "name": "'h' || n",
    "score": "60 + 30 * random()",
    "founder_index": "n - n %% 7",
    "inherits_from_id": "CASE WHEN n %% 7 > 0 THEN past.id + n - 1 END",
    "scored_at": "now() - interval '1 day' + n * interval '0.1 second'",
}
PODS_OF = """
    INSERT INTO tournaments_pod ({columns}) SELECT {values}
    FROM (SELECT * FROM tournaments_pod WHERE tournament_id = %(tournament)s) past,
        (SELECT id, scored_at FROM tournaments_agent WHERE tournament_id = %(tournament)s AND index > 0) agent
"""
POD_VALUES = {"id": "past.id + agent.id - past.agent_id", "agent_id": "agent.id", "finished_at": "agent.scored_at"}
REST = """
    INSERT INTO tournaments_agent_parents (from_agent_id, to_agent_id)
    SELECT id, inherits_from_id FROM tournaments_agent
    WHERE tournament_id = %(tournament)s AND inherits_from_id IS NOT NULL;
    INSERT INTO tournaments_event (tournament_id, at, kind, text, data, agent_id)
    SELECT tournament_id, scored_at, 'agent_rejected', name || ' does not enter.', '{}', id
    FROM tournaments_agent WHERE tournament_id = %(tournament)s;
    INSERT INTO tournaments_curvepoint (agent_id, attempt, env_steps, seconds, episodic_return, losses)
    SELECT id, 1, point * 300, point, score, '{}'
    FROM tournaments_agent, generate_series(1, 3) point WHERE tournament_id = %(tournament)s;
    INSERT INTO tournaments_leaderboardentry (tournament_id, agent_id, rank)
    SELECT tournament_id, id, row_number() OVER (ORDER BY score DESC, index)
    FROM tournaments_agent WHERE tournament_id = %(tournament)s ORDER BY score DESC, index LIMIT %(places)s;
    UPDATE tournaments_agent SET state_file = 'past' FROM tournaments_leaderboardentry entry
    WHERE entry.agent_id = tournaments_agent.id AND entry.tournament_id = %(tournament)s;
"""
"""What is beside agents and pods, for whatever mode."""

OF_MODE = {
    "generational": """
        UPDATE tournaments_agent SET stage = index / %(pool)s, team = index %% %(pool)s,
            state_file = CASE WHEN index >= %(agents)s - %(pool)s THEN 'past' ELSE state_file END
        WHERE tournament_id = %(tournament)s
    """,
    "successive_halving": """
        UPDATE tournaments_agent SET stage = CASE WHEN index %% 13 < 9 THEN 0 WHEN index %% 13 < 12 THEN 1 ELSE 2 END
        WHERE tournament_id = %(tournament)s;
        UPDATE tournaments_agent SET promotable = true, state_file = 'past'
        FROM (
            SELECT id, row_number() OVER (PARTITION BY stage ORDER BY score DESC, index) > count(*) OVER (
                PARTITION BY stage
            ) / 3 waits
            FROM tournaments_agent WHERE tournament_id = %(tournament)s
        ) ranked
        WHERE ranked.id = tournaments_agent.id AND ranked.waits
    """,
}


@dataclass(frozen=True)
class Cost:
    """CPU milliseconds a pod. decision: of `pod_finish`; whole: from the claim on; viewer: of one status and page"""

    agents: int
    decision: tuple[float, float]
    whole: tuple[float, float]
    viewer: tuple[float, float]


class Clock:
    """CPU seconds of this process and of the backend that serves it."""

    def __init__(self) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self._backend = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")

    def read(self) -> tuple[float, float]:
        return time.process_time(), int(self._backend.read_text().split()[0]) / 1e9


class Watch:
    """Adds up what a part of each pod costs."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self.spent = clock, (0.0, 0.0)

    def __enter__(self) -> None:
        self._began = self._clock.read()

    def __exit__(self, *_: object) -> None:
        python, sql = self._clock.read()
        self.spent = self.spent[0] + python - self._began[0], self.spent[1] + sql - self._began[1]

    def each(self, count: int) -> tuple[float, float]:
        return 1e3 * self.spent[0] / count, 1e3 * self.spent[1] / count


def measure(owner: Any, most: int, limit: float) -> bool:
    """Print a table for histories up to `most`. Whether every decision holds `limit` ms and stays flat."""
    sizes = [size for size in SIZES if size < most] + [most]
    print("CPU milliseconds a pod, Python + SQL\n")
    print(
        "| mode | past agents | a decision | from claim to end | what a viewer reads |\n| --- | --- | --- | --- | --- |"
    )
    held = True
    for mode in MODES:
        costs = []
        for size in sizes:
            costs.append(_cost(owner, mode, size))
            _print(mode, costs[-1])
        held = held and sum(costs[-1].decision) <= limit and _flat(costs)
    print(f"\na decision within {limit:g} ms, all of it flat: {'yes' if held else 'no'}")
    return held


def _flat(costs: list[Cost]) -> bool:
    first, last = ((cost.decision, cost.whole, cost.viewer) for cost in (costs[0], costs[-1]))
    return all(sum(after) <= MOST_GROWTH * sum(before) for before, after in zip(first, last, strict=True))


def _print(mode: str, cost: Cost) -> None:
    parts = [
        f"{python + sql:.2f} ({python:.2f} + {sql:.2f})" for python, sql in (cost.decision, cost.whole, cost.viewer)
    ]
    print(f"| {mode} | {cost.agents:,} | {' | '.join(parts)} |", flush=True)


def _cost(owner: Any, mode: str, agents: int) -> Cost:
    from podracer_core.spec_parse import spec_parse
    from webapp.tournaments import selectors, services

    spec = spec_parse(
        {
            "env_id": "CartPole-v1",
            "name": f"{mode} {agents}",
            "pool": {"size": POOL},
            "leaderboard": {"size": PLACES, "eval_episodes": 32},
            "generator": MODES[mode],
            "round": {"env_steps": 1000},
            "stop": {"pods": 10**7, "patience": 10**7},
        }
    )
    tournament = services.tournament_create(owner=owner, spec=spec, start=False)
    past_add(tournament, mode, agents)
    services.tournament_start(tournament_id=tournament.pk)
    clock, random = Clock(), Random(agents)
    for _ in _pods(clock, random, WARM_PODS):
        pass
    whole, decisions = map(list, zip(*_pods(clock, random, PODS), strict=True))
    viewer = Watch(clock)
    selectors.page(tournament.pk)
    for _ in range(VIEWS):
        with viewer:
            selectors.page(tournament.pk)
            selectors.tournament_get(tournament.pk)
    services.tournament_stop(tournament_id=tournament.pk)
    return Cost(agents, _mean(decisions), _mean(whole), viewer.each(VIEWS))


def _mean(watches: list[Watch]) -> tuple[float, float]:
    parts = [watch.each(len(watches)) for watch in watches]
    return sum(python for python, _ in parts), sum(sql for _, sql in parts)


def _pods(clock: Clock, random: Random, count: int) -> Iterator[tuple[Watch, Watch]]:
    """Each is claimed, reports, is believed, and ends. What all of it and its end alone have cost."""
    from podracer_core.progress import Outcome, PodResult, Progress
    from podracer_core.tournament.statistics import summarise
    from webapp.tournaments import orchestrator
    from webapp.tournaments.claims import Report, Taker
    from webapp.tournaments.endings import StoredFiles

    claim, slot = None, Taker("history", 0, "cpu")
    for number in range(count):
        returns = [random.gauss(random.gauss(75, 10), 5) for _ in range(32)]
        result = PodResult(Outcome.FINISHED, 1000, 1.0, summarise(returns, [10] * 32))
        point = Progress(500, 0.5, 1000.0, returns[0], {"policy_loss": 0.1}, sent_at=time.time())
        whole, decision = Watch(clock), Watch(clock)
        with whole:
            claim = claim or orchestrator.pod_claim(worker="history", slot=0, device_kind="cpu")
            assert claim is not None
            held = {"pod_id": claim.pod_id, "attempt": claim.attempt}
            orchestrator.pods_progress([Report(**held, points=[point])])
            orchestrator.pod_renew(**held)
            with decision:
                files, taker = StoredFiles(state_file=f"state-{number}"), slot if number + 1 < count else None
                claim = orchestrator.pod_finish(**held, result=result, files=files, taker=taker)
        yield whole, decision


def past_add(tournament: Any, mode: str, agents: int) -> None:
    """Let a tournament that has not started have had so many agents."""
    from django.db import connection

    from webapp.tournaments.counts import counted, rungs_counted
    from webapp.tournaments.models import Agent, Pod, Rung, Tournament

    first = Agent.objects.create(
        tournament=tournament,
        index=0,
        name="h0",
        algorithm="ppo",
        hyperparameters={name: space.values[0] for name, space in tournament.parsed_spec.search_space("ppo").items()},
        num_envs=8,
        seed=1,
        strategy="exploit",
        founder_index=0,
        env_steps=1000,
        seconds=1.0,
        score=60.0,
        returns=[60.0] * 32,
        scored_at="2026-01-01T00:00:00Z",
    )
    pod = Pod.objects.create(agent=first, tournament=tournament, device_kind="cpu", status="FINISHED", attempt=1)
    Pod.objects.filter(pk=pod.pk).update(
        env_steps=1000, seconds=1.0, worker="past", slot=0, finished_at=first.scored_at
    )
    values = {"tournament": tournament.pk, "agents": agents, "pool": POOL, "places": PLACES}
    with connection.cursor() as cursor:
        cursor.execute("SELECT setseed(0.5)")
        cursor.execute(_copy(PAST, Agent, PAST_VALUES), values)
        cursor.execute(_copy(PODS_OF, Pod, POD_VALUES), values)
        cursor.execute(REST, values)
        if mode in OF_MODE:
            cursor.execute(OF_MODE[mode], values)
        for table in ("agent", "pod"):
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('tournaments_{table}', 'id'), max(id)) FROM tournaments_{table}"
            )
        cursor.execute("ANALYZE")
    Tournament.objects.filter(pk=tournament.pk).update(agents_created=agents, **counted(tournament))
    Rung.objects.bulk_create(rungs_counted(tournament))


def _copy(query: str, model: Any, values: dict[str, str]) -> str:
    """The statement with each of the model's columns, as `values` has it or as it was."""
    columns = [field.column for field in model._meta.concrete_fields]
    return query.format(
        columns=", ".join(f'"{column}"' for column in columns),
        values=", ".join(values.get(column, f'past."{column}"') for column in columns),
    )
