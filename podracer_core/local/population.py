"""Agents as the decisions see them, and the records that decisions become."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from podracer_core.local.home import Home
from podracer_core.local.records import ACTIVE, AgentRecord, Segment, TournamentRecord
from podracer_core.spec import TournamentSpec
from podracer_core.tournament import sentences
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.modes import Past, Rung, cut_of, ranked_teams
from podracer_core.tournament.offspring import Offspring, Parent

Agents = Mapping[int, AgentRecord]
Donors = Callable[[Iterable[AgentRecord]], list[Parent]]


def parent_of(agent: AgentRecord) -> Parent:
    """The agent as the generator sees it, which asks for no returns."""
    return Parent(
        Entry(agent.index, agent.entry.score, agent.founder),
        agent.algorithm,
        agent.hyperparameters,
        agent.num_envs,
        agent.base_env_steps + agent.env_steps,
        agent.stage,
        agent.team,
    )


def past_of(spec: TournamentSpec, home: Home, tournament: TournamentRecord, before: int | None = None) -> Past:
    """What the modes may look at.

    The latest generation is read once: agents that are made together are not the latest to each other. before: the
    stage whose agents are made anew, as though none of it were there
    """
    agents = home.agents

    def donors(of: Iterable[AgentRecord]) -> list[Parent]:
        return [parent_of(agent) for agent in of if agent.score is not None and home.state_file(agent.index)]

    @cache
    def generation() -> tuple[list[list[Parent]], int]:
        stage = max((agent.stage for agent in agents.values()), default=-1) if before is None else before - 1
        return ranked_teams(donors(agent for agent in agents.values() if agent.stage == stage)), stage

    def rungs() -> list[Rung]:
        promoted = {index for agent in agents.values() for index in agent.inherits}
        factor = spec.generator.reduction_factor
        return [_rung(agents, level, donors, promoted, factor) for level in range(spec.generator.rungs - 1)]

    return Past(lambda: donors(agents[row.agent] for row in tournament.leaderboard), generation, rungs)


def _rung(agents: Agents, level: int, donors: Donors, promoted: set[int], factor: int) -> Rung:
    scored = [agent for agent in agents.values() if agent.stage == level and agent.score is not None]
    free = donors(agent for agent in scored if agent.index not in promoted)
    best = min(free, key=lambda parent: (-parent.entry.score, parent.entry.index), default=None)
    return Rung(len(scored), best, cut_of(sorted(agent.entry.score for agent in scored), factor))


def descend(agent: AgentRecord, offspring: Offspring, agents: Agents) -> None:
    """Makes `agent` what `offspring` says."""
    donor = agents[offspring.inherits[0]] if offspring.inherits else None
    agent.algorithm, agent.hyperparameters = offspring.algorithm, offspring.hyperparameters
    agent.num_envs, agent.seed = offspring.num_envs, offspring.seed
    agent.strategy, agent.origin = offspring.strategy, offspring.origin
    agent.parents, agent.inherits = list(offspring.parents), list(offspring.inherits)
    agent.changes = {name: list(pair) for name, pair in offspring.changes.items()}
    agent.stage, agent.team = offspring.stage, offspring.team
    agent.schedule = schedule_of(agents[offspring.parents[0]], agents) if offspring.strategy == "rerun" else []
    agent.founder = donor.founder if donor else agent.index
    agent.depth = donor.depth + 1 if donor else 0
    agent.base_env_steps = donor.base_env_steps + donor.env_steps if donor else 0


def schedule_of(agent: AgentRecord, agents: Agents) -> list[Segment]:
    """What each of its line trained with, one after another; of averaged parents the first's."""
    before = schedule_of(agents[agent.inherits[0]], agents) if agent.inherits else []
    return before + _own_schedule(agent)


def _own_schedule(agent: AgentRecord) -> list[Segment]:
    """Of its own round, as far as it came: it may have reached the target in the middle."""
    own: Segment = {
        "env_steps": agent.env_steps,
        "hyperparameters": agent.hyperparameters,
        "num_envs": agent.num_envs,
    }
    left, done = agent.env_steps, []
    for segment in agent.schedule or [own]:
        steps = min(left, segment["env_steps"])
        if steps > 0:
            done.append({**segment, "env_steps": steps})
        left -= steps
    return done


def budget_of(spec: TournamentSpec, agent: AgentRecord, rounds: int, left: int | None) -> int | None:
    """Env steps of its round, of which the tournament's budget leaves `left`; None where seconds alone end it."""
    if agent.schedule:
        wanted: int | None = sum(segment["env_steps"] for segment in agent.schedule)
    else:
        wanted = spec.round.env_steps * rounds if spec.round.env_steps else None
    return min((steps for steps in (left, wanted) if steps is not None), default=None)


def told_descent(agent: AgentRecord, agents: Agents) -> str:
    """From whom it comes and what was changed, in a sentence."""
    parents = [agents[index] for index in agent.parents]
    names, scores = [parent.name for parent in parents], [parent.score for parent in parents]
    changes = {name: (old, new) for name, (old, new) in agent.changes.items()}
    return sentences.descent(agent.strategy, names, changes, scores)


def needed_states(spec: TournamentSpec, tournament: TournamentRecord, agents: Agents) -> set[int]:
    """Of whom the training state may be wanted: of pods, their parents, the leaderboard, and what the mode asks."""
    needed = {row.agent for row in tournament.leaderboard}
    for agent in agents.values():
        if agent.status in ACTIVE:
            needed |= {agent.index, *agent.parents}
    if spec.generator.mode == "generational":
        latest = max((agent.stage for agent in agents.values()), default=0)
        needed |= {agent.index for agent in agents.values() if agent.stage == latest}
    if spec.generator.mode == "successive_halving":
        promoted = {index for agent in agents.values() for index in agent.inherits}
        last = spec.generator.rungs - 1
        needed |= {a.index for a in agents.values() if a.stage < last and a.index not in promoted}
    return needed
