"""Agents as the decisions see them, and the rows that decisions become. Called with the tournament's row locked."""

from functools import cache
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from podracer_core.tournament import sentences
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.modes import Past, Place, Rung, next_agent, ranked_teams
from podracer_core.tournament.names import agent_name
from podracer_core.tournament.offspring import Offspring, Parent
from webapp.tournaments import events, lineage, storage
from webapp.tournaments.models import Agent, Pod, Tournament


def entry_of(agent: Agent) -> Entry:
    """The agent as the decisions see it."""
    return Entry(
        index=agent.index,
        score=float("nan") if agent.score is None else agent.score,
        founder=agent.founder_index,
        returns=tuple(agent.returns),
    )


def parent_of(agent: Agent) -> Parent:
    """The agent as the generator sees it, which asks for no returns."""
    assert agent.score is not None
    return Parent(
        Entry(agent.index, agent.score, agent.founder_index),
        agent.algorithm,
        agent.hyperparameters,
        agent.envs,
        agent.base_env_steps + agent.env_steps,
        agent.stage,
        agent.team,
    )


def past_of(tournament: Tournament, before: int | None = None) -> Past:
    """What the modes may look at.

    The leaderboard and the latest generation are read once, so that agents which are made together have them in
    common. before: the stage whose agents are made anew, so that the latest generation is the one before it
    """
    donors = tournament.agents.exclude(state_file="").filter(score__isnull=False).defer("returns")

    @cache
    def leaderboard() -> list[Parent]:
        return [parent_of(agent) for agent in donors.filter(entry__isnull=False)]

    @cache
    def generation() -> tuple[list[list[Parent]], int]:
        if before is None:
            newest = tournament.agents.order_by("-index").first()
            stage = newest.stage if newest else -1
        else:
            stage = before - 1
        return ranked_teams([parent_of(agent) for agent in donors.filter(stage=stage)]), stage

    def rungs() -> list[Rung]:
        spec = tournament.parsed_spec.generator
        return [_rung(tournament.agents.filter(stage=level, score__isnull=False)) for level in range(spec.rungs - 1)]

    return Past(leaderboard, generation, rungs)


def _rung(scored: QuerySet[Agent]) -> Rung:
    heirs = Agent.objects.filter(inherits_from=OuterRef("pk"))
    best = scored.exclude(state_file="").filter(~Exists(heirs)).order_by("-score", "index").first()
    if best is None:
        return Rung(0)
    return Rung(scored.count(), parent_of(best), scored.filter(score__gt=best.score).count())


def agent_create(tournament: Tournament, offspring: Offspring) -> Agent:
    """The tournament's next agent, with all that descends on it."""
    index = tournament.agents_created
    agent = Agent(tournament=tournament, index=index, name=agent_name(str(tournament.pk), index, _NamesOf(tournament)))
    _descend(agent, offspring)
    tournament.agents_created += 1
    return agent


def _descend(agent: Agent, offspring: Offspring) -> None:
    """Make `agent` what `offspring` says, and save it."""
    found = {parent.index: parent for parent in agent.tournament.agents.filter(index__in=offspring.parents)}
    parents = [found[index] for index in offspring.parents]
    donor = found[offspring.inherits[0]] if offspring.inherits else None
    agent.algorithm, agent.hyperparameters = offspring.algorithm, offspring.hyperparameters
    agent.num_envs, agent.seed = offspring.num_envs, offspring.seed
    agent.strategy, agent.origin = offspring.strategy, offspring.origin
    agent.changes = dict(offspring.changes)
    agent.stage, agent.team = offspring.stage, offspring.team
    agent.schedule = lineage.schedule_of(parents[0]) if offspring.strategy == "rerun" else []
    agent.inherits_from = donor
    agent.founder_index = donor.founder_index if donor else agent.index
    agent.depth = donor.depth + 1 if donor else 0
    agent.base_env_steps = donor.base_env_steps + donor.env_steps if donor else 0
    agent.save()
    agent.parents.set(parents)


class _NamesOf:
    """The names that a tournament's agents have."""

    def __init__(self, tournament: Tournament) -> None:
        self._agents = tournament.agents

    def __contains__(self, name: object) -> bool:
        return self._agents.filter(name=name).exists()


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
    offspring = next_agent(tournament.parsed_spec, past_of(tournament, agent.stage), agent.index, place)
    _descend(agent, offspring)
    wanted = env_steps_wanted(tournament, agent, offspring.rounds)
    pod.env_steps_budget = min((steps for steps in (left, wanted) if steps is not None), default=None)
    text = sentences.began_anew(agent.name, donor.name, reason, told_descent(agent))
    events.record(tournament.pk, "parent_lost", text, agent=agent, pod=pod)


def told_descent(agent: Agent) -> str:
    """From whom it comes and what was changed, in a sentence."""
    first = agent.inherits_from_id
    parents = sorted(agent.parents.all(), key=lambda parent: (parent.pk != first, parent.index))
    scores = [parent.score for parent in parents]
    return sentences.descent(agent.strategy, [parent.name for parent in parents], agent.changes, scores)


def plan_of(agent: Agent) -> dict[str, Any]:
    """What of a pod's plan the agent decides."""
    return {
        "algorithm": agent.algorithm,
        "hyperparameters": agent.hyperparameters,
        "num_envs": agent.envs,
        "schedule": agent.schedule,
        "seed": agent.seed,
        "lineage": {
            "tournament": agent.tournament.name,
            "agent": agent.name,
            "parents": list(agent.parents.order_by("index").values_list("name", flat=True)),
            "strategy": agent.strategy,
            "base_env_steps": agent.base_env_steps,
        },
    }
