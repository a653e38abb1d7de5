"""Agents as the decisions see them, and the rows that decisions become. Called with the tournament's row locked."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from podracer_core.tournament import sentences
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.modes import Past, Place, Rung, next_agent, ranked_teams
from podracer_core.tournament.names import agent_name
from podracer_core.tournament.offspring import Offspring, Parent
from webapp.tournaments import event_data, events, halving, lineage, rows, storage
from webapp.tournaments.models import Agent, Pod, Tournament


def entry_of(agent: Agent) -> Entry:
    """The agent as the decisions see it."""
    return Entry(
        index=agent.index,
        score=float("nan") if agent.score is None else agent.score,
        founder=agent.founder_index,
        returns=tuple(agent.returns),
    )


Read = dict[int, Callable[[], Agent]]
"""By their index, how to get at the agents that may become parents: few of them do."""


def _parent_of(agent: Agent, tournament: Tournament, read: Read) -> Parent:
    """The agent as the generator sees it, which asks for no returns."""
    assert agent.score is not None
    agent.tournament = tournament
    read[agent.index] = lambda: agent
    return Parent(
        Entry(agent.index, agent.score, agent.founder_index),
        agent.algorithm,
        agent.hyperparameters,
        agent.envs,
        agent.base_env_steps + agent.env_steps,
        agent.stage,
        agent.team,
    )


_LEADERBOARD = f"""
    SELECT {", ".join(f"agent.{name}" for name in Agent.PARENT)}
    FROM tournaments_leaderboardentry entry JOIN tournaments_agent agent ON agent.id = entry.agent_id
    WHERE entry.tournament_id = %s AND agent.state_file <> '' AND agent.score IS NOT NULL
"""  # noqa: S608 - no values


def _ranked_parent(row: tuple[Any, ...], tournament: Tournament, read: Read) -> Parent:
    """As `_parent_of`, of a row of the leaderboard; it becomes an agent only once that is asked for."""
    found = dict(zip(Agent.PARENT, row, strict=True))
    found["hyperparameters"] = json.loads(found["hyperparameters"])

    def agent() -> Agent:
        made: Agent = rows.made(Agent, Agent.PARENT, [*found.values()])
        made.tournament = tournament
        return made

    read[found["index"]] = agent
    return Parent(
        Entry(found["index"], found["score"], found["founder_index"]),
        found["algorithm"],
        found["hyperparameters"],
        found["num_envs"] or agent().envs,
        found["base_env_steps"] + found["env_steps"],
        found["stage"],
        found["team"],
    )


def past_of(tournament: Tournament, before: int | None = None) -> tuple[Past, Read]:
    """What the modes may look at, and what was read of it so far.

    The leaderboard and the latest generation are read once, so that agents which are made together have them in
    common. before: the stage whose agents are made anew, so that the latest generation is the one before it
    """

    read: Read = {}

    @cache
    def leaderboard() -> list[Parent]:
        return [_ranked_parent(row, tournament, read) for row in rows.fetch_all(_LEADERBOARD, [tournament.pk])]

    @cache
    def generation() -> tuple[list[list[Parent]], int]:
        if before is None:
            newest = tournament.agents.order_by("-index").first()
            stage = newest.stage if newest else -1
        else:
            stage = before - 1
        inheritable = tournament.agents.exclude(state_file="").filter(promotable=False)
        donors = inheritable.filter(score__isnull=False, stage=stage).defer("returns")
        return ranked_teams([_parent_of(agent, tournament, read) for agent in donors]), stage

    def rungs() -> list[Rung]:
        return [
            Rung(rung.scored, _parent_of(best, tournament, read) if best.pk else None, rung.cut_score)
            for rung, best in halving.rungs_of(tournament)
        ]

    return Past(leaderboard, generation, rungs), read


def agent_create(tournament: Tournament, offspring: Offspring, read: Read) -> Agent:
    """The tournament's next agent, with all that descends on it. read: its parents among others"""
    agent = Agent(tournament=tournament, index=tournament.agents_created)
    parents = _descend(agent, offspring, read)
    _insert_named(agent)
    if parents:
        rows.execute(_LINK, [agent.pk, [parent.pk for parent in parents]])
    tournament.agents_created += 1
    return agent


_LINK = """
    INSERT INTO tournaments_agent_parents (from_agent_id, to_agent_id) SELECT %s::bigint, * FROM unnest(%s::bigint[])
"""


def _insert_named(agent: Agent) -> None:
    """Write a new agent under the first of its names that no other has."""
    taken: set[str] = set()
    while agent._state.adding:
        agent.name = agent_name(str(agent.tournament_id), agent.index, taken)
        taken.add(agent.name)
        rows.insert(agent, unless_taken=("tournament", "name"))


def _descend(agent: Agent, offspring: Offspring, read: Read) -> list[Agent]:
    """Make `agent`, which is saved afterwards, what `offspring` says. Returns its parents."""
    parents = {index: read[index]() for index in offspring.parents}
    donor = parents[offspring.inherits[0]] if offspring.inherits else None
    agent.algorithm, agent.hyperparameters = offspring.algorithm, offspring.hyperparameters
    agent.num_envs, agent.seed = offspring.num_envs, offspring.seed
    agent.strategy, agent.origin = offspring.strategy, offspring.origin
    agent.changes = dict(offspring.changes)
    agent.stage, agent.team = offspring.stage, offspring.team
    agent.schedule = lineage.schedule_of(parents[offspring.parents[0]]) if offspring.strategy == "rerun" else []
    agent.inherits_from = donor
    agent.founder_index = donor.founder_index if donor else agent.index
    agent.depth = donor.depth + 1 if donor else 0
    agent.base_env_steps = donor.base_env_steps + donor.env_steps if donor else 0
    if donor and donor.promotable:
        halving.promoted(donor)
    return [*parents.values()]


def env_steps_wanted(tournament: Tournament, agent: Agent, rounds: int) -> int | None:
    """How long the agent would train were there no other limit; None where seconds alone limit it."""
    if agent.schedule:
        return sum(int(segment["env_steps"]) for segment in agent.schedule)
    whole = tournament.parsed_spec.round.env_steps
    return whole * rounds if whole else None


def begin_anew(tournament: Tournament, pod: Pod, donor: Agent, reason: str) -> None:
    """Give an agent that could not start from `donor` other parents, or none: a lost file is no failure of the pod.

    The donor keeps its place and is nobody's parent any more.
    """
    agent = pod.agent
    lost, donor.state_file = donor.state_file, ""
    donor.save(update_fields=["state_file"])
    storage.delete_on_commit(lost)
    left = pod.env_steps_budget
    place = Place(agent.team * tournament.parsed_spec.generator.pods_per_agent, tournament.pool_size, left)
    past, read = past_of(tournament, agent.stage)
    offspring = next_agent(tournament.parsed_spec, past, agent.index, place)
    parents = _descend(agent, offspring, read)
    agent.save()
    agent.parents.set(parents)
    agent.known_parents = None
    wanted = env_steps_wanted(tournament, agent, offspring.rounds)
    pod.env_steps_budget = min((steps for steps in (left, wanted) if steps is not None), default=None)
    text = sentences.began_anew(agent.name, donor.name, reason, told_descent(agent))
    data = {**event_data.requeued(pod), **event_data.descent(agent), "lost": str(donor.pk)}
    events.record(tournament.pk, "parent_lost", text, agent=agent, pod=pod, data=data)


def told_descent(agent: Agent) -> str:
    """From whom it comes and what was changed, in a sentence."""
    parents = lineage.heir_order(agent, lineage.parents_of(agent))
    scores = [parent.score for parent in parents]
    return sentences.descent(agent.strategy, [parent.name for parent in parents], agent.changes, scores)


def plan_of(agent: Agent, parents: list[Agent]) -> dict[str, Any]:
    """What of a pod's plan the agent decides. parents: the elder first"""
    return {
        "algorithm": agent.algorithm,
        "hyperparameters": agent.hyperparameters,
        "num_envs": agent.envs,
        "schedule": agent.schedule,
        "seed": agent.seed,
        "lineage": {
            "tournament": agent.tournament.name,
            "agent": agent.name,
            "parents": [parent.name for parent in parents],
            "strategy": agent.strategy,
            "base_env_steps": agent.base_env_steps,
        },
    }
