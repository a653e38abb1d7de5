"""What is compared with what: groups of agents whose curves, times and scores stand for one name."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from django.db.models import Q

from podracer_core.errors import SpecError
from webapp.tournaments.comparing.spec_table import experiment
from webapp.tournaments.models import Agent, LeaderboardEntry, Tournament
from webapp.tournaments.selectors import Item

Of = Literal["board", "champion"]
Grouping = Literal["none", "spec"]

MOST_GROUPS = 10
"""More colours than these are not told apart, and the page shows a table of each against each."""

MOST_REPEATED = 50
"""Tournaments and agents in all, where those of one specification are one group."""

MOST_AGENTS = 20
"""Of a board, the best."""


@dataclass(frozen=True, slots=True)
class Group:
    """Tournaments, more than one where they repeat one another, or one agent or ensemble of one.

    key: t and the id of the first tournament, or a and the agent's; returns: of each agent's episodes; runs: for each
    of these, which of the tournaments it is from
    """

    key: str
    label: str
    tournaments: tuple[Tournament, ...]
    agent: Agent | None
    agents: tuple[Agent, ...]
    returns: tuple[tuple[float, ...], ...]
    runs: tuple[int, ...]

    @property
    def tournament(self) -> Tournament:
        """The first."""
        return self.tournaments[0]


def groups_find(
    tournament_ids: Sequence[int],
    agent_ids: Sequence[int],
    *,
    visible: Q,
    of: Of = "board",
    grouping: Grouping = "none",
) -> list[Group]:
    """The groups in the order in which they were named, tournaments first.

    visible: as webapp.tournaments.access has it; what is not seen is not there
    grouping: spec makes one group of tournaments that repeat one another

    Raises SpecError for more than MOST_GROUPS, Tournament.DoesNotExist, Agent.DoesNotExist.
    """
    tournament_ids, agent_ids = list(dict.fromkeys(tournament_ids)), list(dict.fromkeys(agent_ids))
    _check_count(len(tournament_ids) + len(agent_ids), grouping)
    seen = Tournament.objects.filter(visible)
    tournaments = seen.in_bulk(tournament_ids)
    agents = Agent.every.filter(tournament__in=seen).select_related("tournament").in_bulk(agent_ids)
    for missing in (number for number in tournament_ids if number not in tournaments):
        raise Tournament.DoesNotExist(f"There is no tournament {missing}.")
    for missing in (number for number in agent_ids if number not in agents):
        raise Agent.DoesNotExist(f"There is no agent {missing}.")
    together = _together([tournaments[number] for number in tournament_ids], grouping)
    if len(together) + len(agents) > MOST_GROUPS:
        raise SpecError(
            [("t", f"at most {MOST_GROUPS} are compared at once, and these are {len(together) + len(agents)} groups")]
        )
    boards = _boards(tournament_ids, of)
    found = [_tournament_group(members, boards) for members in together]
    return found + [_agent_group(agents[number]) for number in agent_ids]


def _check_count(count: int, grouping: Grouping) -> None:
    """Raises SpecError for more than are looked at."""
    most = MOST_REPEATED if grouping == "spec" else MOST_GROUPS
    if count > most:
        hint = "" if grouping == "spec" else "; tournaments of equal specification count as one where they are grouped"
        raise SpecError([("t", f"at most {most} tournaments and agents are compared at once, got {count}{hint}")])


def _together(tournaments: Sequence[Tournament], grouping: Grouping) -> list[list[Tournament]]:
    found: dict[object, list[Tournament]] = {}
    for tournament in tournaments:
        key = experiment(tournament.spec) if grouping == "spec" else tournament.pk
        found.setdefault(key, []).append(tournament)
    return list(found.values())


def repeat_one_another(groups: Sequence[Group]) -> bool:
    """Whether any tournaments of different groups would be one group by their specification."""
    tournaments = [group.tournament for group in groups if group.agent is None]
    return len({experiment(tournament.spec) for tournament in tournaments}) < len(tournaments)


def _boards(tournament_ids: list[int], of: Of) -> dict[int, list[Agent]]:
    most = 1 if of == "champion" else MOST_AGENTS
    entries = LeaderboardEntry.objects.filter(tournament__in=tournament_ids, rank__lte=most)
    boards: dict[int, list[Agent]] = {}
    for entry in entries.select_related("agent").order_by("rank"):
        boards.setdefault(entry.tournament_id, []).append(entry.agent)
    return boards


def _tournament_group(tournaments: Sequence[Tournament], boards: dict[int, list[Agent]]) -> Group:
    agents = [agent for tournament in tournaments for agent in boards.get(tournament.pk, [])]
    return _group(f"t{tournaments[0].pk}", _common_name(tournaments), tournaments, None, agents)


def _agent_group(agent: Agent) -> Group:
    return _group(f"a{agent.pk}", f"{agent.name} of {agent.tournament.name}", [agent.tournament], agent, [agent])


def _group(
    key: str, label: str, tournaments: Sequence[Tournament], agent: Agent | None, agents: Sequence[Agent]
) -> Group:
    returns = [(member, tuple(value for value in member.returns if value is not None)) for member in agents]
    scored = [(member.tournament_id, part) for member, part in returns if part]
    return Group(
        key=key,
        label=label,
        tournaments=tuple(tournaments),
        agent=agent,
        agents=tuple(agents),
        returns=tuple(part for _, part in scored),
        runs=tuple(run for run, _ in scored),
    )


def _common_name(tournaments: Sequence[Tournament]) -> str:
    """What the names of tournaments that repeat one another begin with, and how many these are: sprint × 3."""
    names = [tournament.name for tournament in tournaments]
    if len(names) == 1:
        return names[0]
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    shared = "".join(letters[0] for letters in alike)
    stem = shared if shared in names else shared.rstrip("0123456789 -_#.,:(")
    return f"{stem or names[0]} × {len(names)}"


def labels(groups: Sequence[Group]) -> dict[str, str]:
    """What each group is called; those of one name are told apart by their id."""
    names = [group.label for group in groups]
    return {
        group.key: group.label if names.count(group.label) == 1 else f"{group.label} #{group.key[1:]}"
        for group in groups
    }


def shown(group: Group, label: str, color: int) -> Item:
    """As the API and the page name it."""
    running = any(tournament.status == Tournament.Status.RUNNING for tournament in group.tournaments)
    return {
        "key": group.key,
        "label": label,
        "color": color,
        "env_id": group.tournament.env_id,
        "tournament": str(group.tournament.pk),
        "tournaments": [
            {"id": str(tournament.pk), "name": tournament.name, "seed": tournament.spec["seed"]}
            for tournament in group.tournaments
        ],
        "agent": str(group.agent.pk) if group.agent else None,
        "kind": group.agent.kind if group.agent else "tournament",
        "status": Tournament.Status.RUNNING.value if running else group.tournament.status,
        "agents": len(group.agents),
        "episodes": sum(map(len, group.returns)),
    }
