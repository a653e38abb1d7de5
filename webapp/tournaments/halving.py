"""The rungs of successive halving, kept up as agents are scored, so that a promotion costs the same however many agents
a rung has. Called with the tournament's row locked.
"""

from webapp.tournaments import rows
from webapp.tournaments.models import Agent, Rung, Tournament

Place = tuple[float, int]
"""What agents are ordered by, the best least: the negative score, then the index."""

_RUNG = rows.Query(
    "SELECT {rung} FROM tournaments_rung rung WHERE rung.tournament_id = %s AND rung.level = %s",
    rung=Rung,
)

_SCORED = """
    SELECT score * -1, index FROM tournaments_agent
    WHERE tournament_id = %s AND stage = %s AND kind = 'agent' AND score IS NOT NULL
"""
_BEST = f"{_SCORED} ORDER BY score * -1, index LIMIT 1"
_BETTER = f"{_SCORED} AND (score * -1, index) < (%s, %s) ORDER BY score * -1 DESC, index DESC LIMIT 1"
_WORSE = f"{_SCORED} AND (score * -1, index) > (%s, %s) ORDER BY score * -1, index LIMIT 1"

_CANDIDATES = rows.Query(
    """
    SELECT {rung}, {agent} FROM tournaments_rung rung LEFT JOIN LATERAL (
        SELECT * FROM tournaments_agent
        WHERE tournament_id = rung.tournament_id AND stage = rung.level AND promotable AND state_file <> ''
        ORDER BY score * -1, index LIMIT 1
    ) agent ON true
    WHERE rung.tournament_id = %s ORDER BY rung.level
    """,
    rung=Rung,
    agent=(Agent, Agent.PARENT),
)


def below_the_top(tournament: Tournament, agent: Agent) -> bool:
    """Whether the agent, once it has a score, may be promoted."""
    spec = tournament.parsed_spec.generator
    return spec.mode == "successive_halving" and agent.stage < spec.rungs - 1


def count(tournament: Tournament, agent: Agent) -> None:
    """Have its rung count an agent whose score has just been written."""
    if agent.score is None or not below_the_top(tournament, agent):
        return
    found = _RUNG.first(tournament.pk, agent.stage)
    rung = found[0] if found else Rung(tournament=tournament, level=agent.stage)
    factor = tournament.parsed_spec.generator.reduction_factor
    before, after = rung.scored // factor, (rung.scored + 1) // factor
    rung.scored += 1
    rung.cut_score, rung.cut_index = _cut(rung, (-agent.score, agent.index), before, after)
    if found:
        rows.update(rung, "scored", "cut_score", "cut_index")
    else:
        rows.insert(rung)


def _cut(rung: Rung, newcomer: Place, before: int, after: int) -> tuple[float | None, int | None]:
    """Score and index of the last of the best `after`, where it was that of the best `before` without the newcomer.

    It moves by one place at most, which the index finds at once.
    """
    here = (rung.tournament_id, rung.level)
    if rung.cut_score is None or rung.cut_index is None:
        found = rows.fetch_one(_BEST, here) if after else None
        return (-found[0], found[1]) if found else (None, None)
    cut = (-rung.cut_score, rung.cut_index)
    above = newcomer < cut
    found = None
    if above and after == before:
        found = rows.fetch_one(_BETTER, [*here, *cut])
    elif not above and after > before:
        found = rows.fetch_one(_WORSE, [*here, *cut])
    return (-found[0], found[1]) if found else (rung.cut_score, rung.cut_index)


def rungs_of(tournament: Tournament) -> list[tuple[Rung, Agent]]:
    """The lowest first, each with the best of it that can be promoted; one without a key is none."""
    return [(rung, agent) for rung, agent in _CANDIDATES.all(tournament.pk)]


def promoted(agent: Agent) -> None:
    """Somebody trains on from it on the next rung."""
    agent.promotable = False
    rows.update(agent, "promotable")
