"""Tournaments and agents beside each other, as the API and the page of comparisons show them.

A group is a tournament's leaderboard, its champion alone, one agent, or an ensemble of agents. Scores are compared
within an environment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from django.db.models import Count, Max, Q, Sum

from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.errors import SpecError
from podracer_core.tournament import comparison as statistics
from podracer_core.tournament.comparison import Estimate, Sample
from webapp.tournaments.comparing.curves import Axis, mean_curve
from webapp.tournaments.comparing.spec_table import spec_table
from webapp.tournaments.models import Agent, LeaderboardEntry, Tournament
from webapp.tournaments.selectors import Item

Of = Literal["board", "champion"]

MOST_GROUPS = 10
"""More colours than these are not told apart, and the page shows a table of each against each."""

MOST_AGENTS = 20
"""Of a board, the best."""


@dataclass(frozen=True, slots=True)
class Group:
    """key: t and the tournament's id, or a and the agent's; returns: of each agent's episodes"""

    key: str
    label: str
    tournament: Tournament
    agent: Agent | None
    agents: tuple[Agent, ...]
    returns: tuple[tuple[float, ...], ...]


def groups_find(
    tournament_ids: Sequence[int], agent_ids: Sequence[int], *, visible: Q, of: Of = "board"
) -> list[Group]:
    """The groups in the order in which they were named, tournaments first.

    visible: as webapp.tournaments.access has it; what is not seen is not there

    Raises SpecError for more than MOST_GROUPS, Tournament.DoesNotExist, Agent.DoesNotExist.
    """
    tournament_ids, agent_ids = list(dict.fromkeys(tournament_ids)), list(dict.fromkeys(agent_ids))
    count = len(tournament_ids) + len(agent_ids)
    if count > MOST_GROUPS:
        raise SpecError([("t", f"at most {MOST_GROUPS} tournaments and agents are compared at once, got {count}")])
    seen = Tournament.objects.filter(visible)
    tournaments = seen.in_bulk(tournament_ids)
    agents = Agent.every.filter(tournament__in=seen).select_related("tournament").in_bulk(agent_ids)
    for missing in (number for number in tournament_ids if number not in tournaments):
        raise Tournament.DoesNotExist(f"There is no tournament {missing}.")
    for missing in (number for number in agent_ids if number not in agents):
        raise Agent.DoesNotExist(f"There is no agent {missing}.")
    boards = _boards(tournament_ids, of)
    found = [_group(tournaments[number], None, boards.get(number, [])) for number in tournament_ids]
    return found + [_group(agents[number].tournament, agents[number], [agents[number]]) for number in agent_ids]


def _boards(tournament_ids: list[int], of: Of) -> dict[int, list[Agent]]:
    most = 1 if of == "champion" else MOST_AGENTS
    entries = LeaderboardEntry.objects.filter(tournament__in=tournament_ids, rank__lte=most)
    boards: dict[int, list[Agent]] = {}
    for entry in entries.select_related("agent").order_by("rank"):
        boards.setdefault(entry.tournament_id, []).append(entry.agent)
    return boards


def _group(tournament: Tournament, agent: Agent | None, agents: list[Agent]) -> Group:
    returns = (tuple(value for value in member.returns if value is not None) for member in agents)
    return Group(
        key=f"a{agent.pk}" if agent else f"t{tournament.pk}",
        label=f"{agent.name} of {tournament.name}" if agent else tournament.name,
        tournament=tournament,
        agent=agent,
        agents=tuple(agents),
        returns=tuple(part for part in returns if part),
    )


def compare(groups: Sequence[Group], *, axis: Axis = "steps", target: float | None = None) -> Item:
    """Everything about `groups`; `target` instead of each environment's own."""
    environments = list(dict.fromkeys(group.tournament.env_id for group in groups))
    labels = _labels(groups)
    tournaments = [group for group in groups if group.agent is None]
    return {
        "groups": [_shown(group, labels[group.key], color) for color, group in enumerate(groups)],
        "environments": [
            _environment(env_id, [group for group in groups if group.tournament.env_id == env_id], axis, target)
            for env_id in environments
        ],
        "differences": {
            "groups": [group.key for group in tournaments],
            "rows": spec_table([group.tournament.spec for group in tournaments]),
        },
    }


def _labels(groups: Sequence[Group]) -> dict[str, str]:
    """What each group is called; those of one name are told apart by their id."""
    names = [group.label for group in groups]
    return {
        group.key: group.label if names.count(group.label) == 1 else f"{group.label} #{group.key[1:]}"
        for group in groups
    }


def _shown(group: Group, label: str, color: int) -> Item:
    return {
        "key": group.key,
        "label": label,
        "color": color,
        "env_id": group.tournament.env_id,
        "tournament": str(group.tournament.pk),
        "agent": str(group.agent.pk) if group.agent else None,
        "kind": group.agent.kind if group.agent else "tournament",
        "status": group.tournament.status,
        "agents": len(group.agents),
        "episodes": sum(map(len, group.returns)),
    }


def _environment(env_id: str, groups: list[Group], axis: Axis, target: float | None) -> Item:
    target = _target(groups) if target is None else target
    scored = [group for group in groups if group.returns]
    samples = {group.key: statistics.sample(group.returns, seed=seed) for seed, group in enumerate(scored)}
    return {
        "env_id": env_id,
        "groups": [group.key for group in groups],
        "target": target,
        "curves": {
            group.key: mean_curve(group.tournament, axis, group.agent.pk if group.agent else None) for group in groups
        },
        "times": [_time_to_target(group, target) for group in groups if group.agent is None],
        "scores": [_score(group, samples[group.key]) for group in scored],
        "profiles": _profiles(samples),
        "improvement": _improvement(samples),
    }


def _improvement(samples: dict[str, Sample]) -> list[Item]:
    """Of each against each other; the one way is computed, the other is what is left to 1."""
    found = []
    for first, second in combinations(samples, 2):
        there = statistics.probability_of_improvement(samples[first], samples[second])
        back = Estimate(1 - there.value, 1 - there.high, 1 - there.low)
        found += [{"better": first, "than": second, **_estimate(there)}]
        found += [{"better": second, "than": first, **_estimate(back)}]
    return found


def _target(groups: Iterable[Group]) -> float | None:
    """The highest that any of them aims at, else what counts as solved."""
    aims = [group.tournament.spec["stop"].get("score") for group in groups]
    entry = CATALOGUE.get(next(iter(groups)).tournament.env_id)
    return max((aim for aim in aims if aim is not None), default=entry.solved_score if entry else None)


def _estimate(estimate: Estimate) -> Item:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _score(group: Group, sample: Sample) -> Item:
    values = sample.values
    return {
        "group": group.key,
        **_estimate(statistics.iqm(sample)),
        "mean": float(values.mean()),
        "lowest": float(values[0]),
        "highest": float(values[-1]),
    }


def _profiles(samples: dict[str, Sample]) -> Item:
    if not samples:
        return {"thresholds": [], "groups": {}}
    thresholds = statistics.thresholds(list(samples.values()))
    shares = {key: statistics.profile(sample, thresholds) for key, sample in samples.items()}
    return {
        "thresholds": thresholds.tolist(),
        "groups": {
            key: {"share": share.tolist(), "low": low.tolist(), "high": high.tolist()}
            for key, (share, low, high) in shares.items()
        },
    }


def _time_to_target(group: Group, target: float | None) -> Item:
    """When its first agent was scored at the target or above, and what had been spent by then; nulls where none was."""
    tournament = group.tournament
    scored = tournament.agents.filter(score__isnull=False, scored_at__isnull=False)
    first = scored.filter(score__gte=target).order_by("scored_at", "pk").first() if target is not None else None
    by_then = scored.filter(scored_at__lte=first.scored_at) if first else scored
    sums = by_then.aggregate(steps=Sum("env_steps", default=0), count=Count("pk"), best=Max("score"))
    return {
        "group": group.key,
        "reached": first is not None,
        "seconds": _running_seconds(tournament, first) if first else None,
        "env_steps": sums["steps"],
        "agents": sums["count"],
        "best_score": sums["best"],
        "agent": str(first.pk) if first else None,
        "agent_name": first.name if first else None,
    }


def _running_seconds(tournament: Tournament, agent: Agent) -> float | None:
    """From the start of the tournament to the agent's score, pauses left out."""
    if tournament.started_at is None or agent.scored_at is None:
        return None
    seconds = (agent.scored_at - tournament.started_at).total_seconds()
    paused_at = None
    changes = tournament.events.filter(kind__in=("paused", "resumed"), at__lt=agent.scored_at).order_by("pk")
    for kind, at in changes.values_list("kind", "at"):
        if kind == "paused":
            paused_at = at
        elif paused_at is not None:
            seconds, paused_at = seconds - (at - paused_at).total_seconds(), None
    # A pod that was in its evaluation when the pause began ends it within the pause.
    return max(0.0, seconds - ((agent.scored_at - paused_at).total_seconds() if paused_at else 0.0))
