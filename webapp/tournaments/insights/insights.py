"""What can be learned of a tournament beyond its leaderboard: who comes from whom, and what hyperparameters did.

Reads, as in `selectors`: plain JSON in columns, ids as strings, as many queries for a thousand agents as for one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podracer_core.hyperparameters import ALGORITHMS, Value
from podracer_core.search_space import SearchSpace
from podracer_core.spec import TournamentSpec
from podracer_core.tournament.importance import Importance, Trial, importance_problem, importances
from webapp.tournaments.lineage import SCHEDULED, ancestry, own_schedule
from webapp.tournaments.models import Agent, Tournament

Item = dict[str, Any]
Columns = dict[str, list[Any]]

NUM_ENVS = "num_envs"


def columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """`rows` as one list for each name, empty ones where there is no row."""
    found = list(rows)
    return {name: [row[index] for row in found] for index, name in enumerate(names)}


# Lineage

LINEAGE = (
    "id", "name", "algorithm", "strategy", "depth", "inherits_from", "parents", "status", "score", "rank", "color",
    "env_steps", "began", "ended",
)  # fmt: skip


def lineage_get(tournament_id: int) -> Item:
    """Every agent with whom it comes from, in the order of creation. Raises Tournament.DoesNotExist."""
    tournament = Tournament.objects.get(pk=tournament_id)
    parents = _parents(tournament_id)
    agents = tournament.agents.select_related("pod", "entry").defer("returns", "schedule").order_by("index")
    rows = [_descent(tournament, agent, parents[agent.pk]) for agent in agents]
    champion = next((row[0] for row in rows if row[LINEAGE.index("rank")] == 1), None)
    return {"champion": champion, "agents": columns(LINEAGE, rows)}


def _parents(tournament_id: int) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    links = Agent.parents.through.objects.filter(from_agent__tournament=tournament_id).order_by("to_agent__index")
    for child, parent in links.values_list("from_agent_id", "to_agent_id"):
        found[child].append(str(parent))
    return found


def _descent(tournament: Tournament, agent: Agent, parents: list[str]) -> tuple[Any, ...]:
    pod, entry = agent.pod, getattr(agent, "entry", None)

    def seconds(moment: Any) -> float | None:
        return (moment - tournament.started_at).total_seconds() if moment and tournament.started_at else None

    return (
        str(agent.pk), agent.name, agent.algorithm, agent.strategy, agent.depth,
        str(agent.inherits_from_id) if agent.inherits_from_id else None,
        parents, pod.status, agent.score, entry.rank if entry else None, agent.color,
        agent.base_env_steps + pod.env_steps, seconds(pod.started_at), seconds(pod.finished_at),
    )  # fmt: skip


# Hyperparameters


def hyperparameters_get(tournament_id: int) -> Item:
    """What each algorithm's agents were given, what of it mattered, and what the champion's line trained with.

    Raises Tournament.DoesNotExist.
    """
    tournament = Tournament.objects.get(pk=tournament_id)
    agents = list(tournament.agents.select_related("entry", "pod").defer("returns", "schedule").order_by("index"))
    for agent in agents:
        agent.tournament = tournament
    champion = next((agent for agent in agents if getattr(agent, "entry", None) and agent.entry.rank == 1), None)
    names = dict.fromkeys(agent.algorithm for agent in agents)
    return {
        "algorithms": [
            _algorithm(tournament.parsed_spec, name, [agent for agent in agents if agent.algorithm == name])
            for name in names
        ],
        "schedule": _schedule(champion) if champion else None,
    }


def _algorithm(spec: TournamentSpec, name: str, agents: list[Agent]) -> Item:
    known = axes(spec, name)
    # An agent from before there was a hyperparameter trained with its default, which its spec has as a fixed value now.
    fixed = {axis["name"]: axis["space"][0] for axis in known if axis["kind"] == "fixed"}
    given = [{**fixed, **_values(agent)} for agent in agents]
    varied = [axis for axis in known if len({values[axis["name"]] for values in given}) > 1]
    shown = {axis["name"] for axis in varied}
    trials = [
        Trial(agent.score, agent.founder_index, agent.depth, {key: values[key] for key in values if key in shown})
        for agent, values in zip(agents, given, strict=True)
        if agent.score is not None
    ]
    rows = [
        (str(agent.pk), agent.name, agent.score, agent.color, entry.rank if entry else None, agent.strategy)
        for agent in agents
        for entry in [getattr(agent, "entry", None)]
    ]
    return {
        "name": name,
        "agents": columns(("id", "name", "score", "color", "rank", "strategy"), rows),
        "axes": [{**axis, "values": [values[axis["name"]] for values in given]} for axis in varied],
        "importance": {
            "problem": importance_problem(trials),
            "agents": len(trials),
            "founders": len({trial.founder for trial in trials}),
            "items": [_importance(item) for item in importances(trials)] if shown else [],
        },
    }


def _values(agent: Agent) -> dict[str, Value]:
    return {**agent.hyperparameters, NUM_ENVS: agent.envs}


def axes(spec: TournamentSpec, algorithm: str) -> list[Item]:
    """Name, kind and ends or choices of each hyperparameter's search space, those that were searched first."""
    spaces = {**spec.search_space(algorithm), NUM_ENVS: spec.num_envs_space(algorithm)}
    ordered = sorted(spaces, key=lambda name: spaces[name].kind == "fixed")
    return [_axis(name, spaces[name]) for name in ordered]


def _axis(name: str, space: SearchSpace) -> Item:
    return {"name": name, "kind": space.kind, "space": list(space.values)}


def _importance(item: Importance) -> Item:
    levels = [{"low": one.low, "high": one.high, "agents": one.agents, "rank": one.rank} for one in item.levels]
    return {"name": item.name, "share": item.share, "low": item.low, "high": item.high, "levels": levels}


# Schedules


def schedule_get(agent_id: int) -> Item:
    """The hyperparameters of an agent's line over its env steps. Raises Agent.DoesNotExist."""
    return _schedule(Agent.objects.select_related("tournament", "pod").get(pk=agent_id))


def _schedule(agent: Agent) -> Item:
    """Segments one behind the other, and what each was trained with; those that changed come first."""
    segments = _segments(agent)
    known = {axis["name"]: axis for axis in axes(agent.tournament.parsed_spec, agent.algorithm)}
    names = [name for name in (*ALGORITHMS[agent.algorithm].model_fields, NUM_ENVS) if name in known]
    found = [{**known[name], "values": [values.get(name) for *_, values in segments]} for name in names]
    head = ("agent", "name", "strategy", "begin", "end")
    return {
        "agent": str(agent.pk),
        "name": agent.name,
        "segments": columns(head, [segment[:-1] for segment in segments]),
        "axes": sorted(found, key=lambda axis: len(set(axis["values"])) == 1),
    }


def _segments(agent: Agent) -> list[tuple[str, str, str, int, int, Mapping[str, Value]]]:
    """(agent, its name, strategy, first and last env step, hyperparameters) of each part of the line's schedule."""
    begin = 0
    found: list[tuple[str, str, str, int, int, Mapping[str, Value]]] = []
    for member in ancestry(agent, "name", "strategy", *SCHEDULED):
        member.tournament = agent.tournament
        if member.pk == agent.pk:
            member.env_steps = agent.pod.env_steps  # which a pod that still trains has already done
        for part in own_schedule(member):
            end = begin + part["env_steps"]
            values = {**part["hyperparameters"], NUM_ENVS: part["num_envs"]}
            found.append((str(member.pk), member.name, member.strategy, begin, end, values))
            begin = end
    return found
