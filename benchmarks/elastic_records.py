"""A tournament's records as its events alone tell them, and what else says the same: database and export.

Nothing here asks what ought to have happened: `rebuilt` only reads events, `checks` only compares.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Item = dict[str, Any]

ENDINGS = {
    "agent_entered": "FINISHED",
    "agent_rejected": "FINISHED",
    "pod_failed": "FAILED",
    "pod_stopped": "STOPPED",
}
REQUEUED = ("pod_retried", "pod_moved", "parent_lost")
"""An attempt ends, and another goes on."""


@dataclass
class Told:
    """An agent as its events tell it. attempts: number -> (worker, env step from which the next goes on)"""

    agent: str
    attempts: dict[int, tuple[str, float]] = field(default_factory=dict)
    ends: int = 0
    index: int = -1
    status: str = ""
    strategy: str = ""
    parents: tuple[str, ...] = ()
    score: float | None = None
    env_steps: int = 0


@dataclass
class Records:
    """What events tell: agents by id, the leaderboard that follows, the pool's sizes. faults: what cannot be"""

    agents: dict[str, Told] = field(default_factory=dict)
    board: list[str] = field(default_factory=list)
    pools: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def total(self, of: Callable[[Told], int]) -> int:
        return sum(map(of, self.agents.values()))


def rebuilt(events: Iterable[Item]) -> Records:
    """The records from a tournament's events, the eldest first."""
    records = Records()
    for event in events:
        kind, data = event["kind"], event["data"]
        records.kinds[kind] += 1
        if kind == "tournament_started":
            records.pools.append(data["pool_size"])
        elif kind == "pool_changed":
            if records.pools[-1:] != [data["from"]]:
                records.faults.append(f"the pool was {records.pools[-1:]} and changed from {data['from']}")
            records.pools.append(data["to"])
        elif kind in REQUEUED or kind in ENDINGS:
            _take(records, event)
    return records


def _take(records: Records, event: Item) -> None:
    kind, data = event["kind"], event["data"]
    told = records.agents.setdefault(event["agent"], Told(event["agent"]))
    if "attempt" in data:
        if data["attempt"] in told.attempts:
            records.faults.append(f"attempt {data['attempt']} of {event['agent_name']} ended twice")
        told.attempts[data["attempt"]] = data["worker"], data.get("goes_on_from", math.inf)
    if kind in REQUEUED:
        return
    told.ends += 1
    told.index, told.strategy, told.env_steps = data["index"], data["strategy"], data["env_steps"]
    told.parents, told.status, told.score = tuple(data["parents"]), ENDINGS[kind], data.get("score")
    if kind == "agent_entered":
        _enter(records, told, data)


def _enter(records: Records, told: Told, data: Item) -> None:
    """Put a newcomer at its rank, and off with whom it displaced."""
    if data["rank"] > len(records.board) + 1:
        records.faults.append(f"{told.agent} entered at {data['rank']} of a leaderboard of {len(records.board)}")
    records.board.insert(data["rank"] - 1, told.agent)
    for gone in data["dropped"]:
        if gone not in records.board:
            records.faults.append(f"{gone} dropped off and was not on the leaderboard")
        else:
            records.board.remove(gone)
    order = [_place(records.agents[agent]) for agent in records.board]
    if order != sorted(order):
        records.faults.append(f"the leaderboard is not in order once {told.agent} has entered at {data['rank']}")


def _place(told: Told) -> tuple[float, int]:
    return -(told.score or 0.0), told.index


@dataclass(frozen=True)
class Check:
    """One line of the table: what events, database and export say, and what is wrong, "" for nothing."""

    what: str
    told: object
    stored: object
    exported: object
    wrong: str


def checks(records: Records, database: Item, export: Item, *, pools: list[int], places: int) -> list[Check]:
    """database: see elastic_database; pools: the sizes asked for; places: the leaderboard's size, with no family cap"""
    rows, exported = database["agents"], {agent["id"]: agent for agent in export["agents"]}
    row, told = database["tournament"], records.agents
    return [
        _of_faults(records),
        _same("agents", set(told), set(rows), set(exported), count=True),
        _lost(records, row["agents_created"]),
        _same("descent", _of(told, descent), _of(rows, descent), _of(exported, descent), count=True),
        _same("how each ended", _of(told, _end), _of(rows, _end), _of(exported, _end), count=True),
        _twice(records, row["pods_finished"]),
        _attempts(records, rows, exported),
        _steps(records, rows, exported, row["env_steps_spent"]),
        _curves(records, database["points"]),
        _same("leaderboard", records.board, database["board"], [entry["agent"] for entry in export["leaderboard"]]),
        _sorted(records, places),
        _pools(records, row["pool_size"], pools),
        _same("events", records.kinds, database["kinds"], Counter(event["kind"] for event in export["events"])),
    ]


def descent(agent: Any) -> object:
    """The same of a told, a stored and an exported agent."""
    if isinstance(agent, Told):
        return agent.index, agent.strategy, sorted(agent.parents)
    return agent["index"], agent["strategy"], sorted(agent["parents"])


def _end(agent: Any) -> object:
    if isinstance(agent, Told):
        return agent.status, agent.score, agent.env_steps
    return agent["status"], agent["score"], agent["env_steps"]


def _of(agents: dict[str, Any], part: Callable[[Any], object]) -> dict[str, object]:
    return {key: part(agent) for key, agent in agents.items()}


def _same(what: str, told: Any, stored: Any, exported: Any, *, count: bool = False) -> Check:
    """Three that shall be equal; of many only their number is shown."""
    shown = [len(one) if count else _shown(one) for one in (told, stored, exported)]
    wrong = [name for name, one in (("database", stored), ("export", exported)) if one != told]
    return Check(what, *shown, f"the {' and the '.join(wrong)} say otherwise" if wrong else "")


def _shown(value: Any) -> str:
    if isinstance(value, Counter):
        return str(value.total())
    return " ".join(map(str, value))


def _of_faults(records: Records) -> Check:
    return Check("events make sense", records.kinds.total(), "", "", "; ".join(records.faults[:3]))


def _lost(records: Records, created: int) -> Check:
    there = {agent.index for agent in records.agents.values()}
    missing = sorted(set(range(created)) - there)
    return Check("agents lost", len(missing), created, "", f"nothing is told of numbers {missing}" if missing else "")


def _twice(records: Records, finished: int) -> Check:
    """Every agent ends once, and as many finish as are counted."""
    ended = sum(agent.status == "FINISHED" for agent in records.agents.values())
    odd = [agent.agent for agent in records.agents.values() if agent.ends != 1]
    wrong = f"{odd} did not end once" if odd else "" if ended == finished else "the counter says otherwise"
    return Check("pods finished, each once", ended, finished, "", wrong)


def _attempts(records: Records, rows: dict[str, Item], exported: dict[str, Item]) -> Check:
    """Each that was begun has one end that names it."""
    odd = [
        key
        for key, agent in records.agents.items()
        if sorted(agent.attempts) != list(range(1, rows[key]["attempt"] + 1))
        or rows[key]["attempt"] != exported[key]["attempt"]
    ]
    stored, out = (sum(agent["attempt"] for agent in side.values()) for side in (rows, exported))
    told = records.total(lambda agent: len(agent.attempts))
    return Check("attempts, each explained", told, stored, out, f"not of {odd}" if odd else "")


def _steps(records: Records, rows: dict[str, Item], exported: dict[str, Item], spent: int) -> Check:
    told = records.total(lambda agent: agent.env_steps)
    stored, out = (sum(agent["env_steps"] for agent in side.values()) for side in (rows, exported))
    wrong = "" if told == stored == out == spent else f"the tournament counts {spent:,}"
    return Check("env steps, counted once", told, stored, out, wrong)


def _curves(records: Records, points: list[tuple[str, int, int]]) -> Check:
    """Every env step of an agent was reported by the one attempt that trained it. points: agent, env steps, attempt"""
    odd = {key for key, told in records.agents.items() if told.status == "FINISHED"} - {agent for agent, *_ in points}
    last: dict[str, int] = {}
    for agent, env_steps, attempt in sorted(points):
        told = records.agents[agent]
        begun = told.attempts.get(attempt - 1, ("", 0))[1]
        left = told.attempts.get(attempt, ("", 0))[1]
        # A pod that failed does not know how far it came.
        trained = math.inf if told.status == "FAILED" else told.env_steps
        if env_steps <= last.get(agent, 0) or not begun < env_steps <= min(left, trained):
            odd.add(agent)
        last[agent] = env_steps
    return Check("points of curves", "", len(points), "", f"trained twice or never: {odd}" if odd else "")


def _pools(records: Records, stored: int, asked: list[int]) -> Check:
    """asked: what was asked for, in order; the database knows the last alone"""
    right = records.pools == asked and stored == asked[-1]
    return Check("pool sizes", _shown(records.pools), stored, "", "" if right else f"{_shown(asked)} were asked for")


def _sorted(records: Records, places: int) -> Check:
    """The leaderboard is all valid scores in their order, as many as it has places."""
    scored = sorted((agent for agent in records.agents.values() if agent.score is not None), key=_place)
    best = [agent.agent for agent in scored[:places]]
    wrong = "" if records.board == best else f"the best are {best}"
    return Check("leaderboard is the best in order", f"{len(records.board)} of {len(scored)}", "", "", wrong)
