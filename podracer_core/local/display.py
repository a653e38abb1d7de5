"""What a person at a terminal sees of a tournament: a table that is redrawn, or lines where it is no terminal."""

import shutil
import time
from typing import TextIO

from podracer_core.local.records import AgentRecord, EnsembleRecord, PodStatus, TournamentStatus
from podracer_core.local.tournament import LocalTournament
from podracer_core.tournament import sentences
from podracer_core.tournament.ensembles import placed
from podracer_core.tournament.stopping import budget_progress

REDRAW_SECONDS = 0.5
MOST_ROWS = 16
BAR = 24
CLEAR_LINE, CLEAR_BELOW = "\x1b[2K", "\x1b[J"


class Lines:
    """Prints each event once, as it happens."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._told = out, 0

    def __call__(self, tournament: LocalTournament) -> None:
        events = tournament.home.events
        for event in events[self._told :]:
            print(f"{time.strftime('%H:%M:%S', time.localtime(event.at))}  {event.text}", file=self._out, flush=True)
        self._told = len(events)


class Screen:
    """Redraws the leaderboard and the pods in place."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._height, self._due = out, 0, 0.0

    def __call__(self, tournament: LocalTournament) -> None:
        over = tournament.record.status is not TournamentStatus.RUNNING
        if time.monotonic() < self._due and not over:
            return
        self._due = time.monotonic() + REDRAW_SECONDS
        width = shutil.get_terminal_size().columns
        lines = [line[: width - 1] for line in picture(tournament)]
        up = f"\x1b[{self._height}A" if self._height else ""
        self._out.write(up + "".join(f"{CLEAR_LINE}{line}\n" for line in lines) + CLEAR_BELOW)
        self._out.flush()
        self._height = len(lines)


def picture(tournament: LocalTournament) -> list[str]:
    """Lines of plain text: the state, the leaderboard, the pods in training, the latest event."""
    events = tournament.home.events
    return [
        *_heading(tournament),
        "",
        *_leaderboard(tournament),
        *_running(tournament),
        *(["", events[-1].text] if events else []),
    ]


def _heading(tournament: LocalTournament) -> list[str]:
    finished = len(tournament.pods(PodStatus.FINISHED))
    rate = sum(progress.env_steps_per_second for progress in tournament.latest.values())
    facts = [
        tournament.record.status.lower(),
        f"{tournament.seconds:,.0f} s",
        f"{finished:,} pods finished",
        f"{tournament.env_steps:,} env steps",
    ]
    if rate:
        facts.append(f"{rate:,.0f} a second")
    lines = [f"{tournament.spec.name} on {tournament.spec.env_id}", " · ".join(facts)]
    share = budget_progress(tournament.spec.stop, tournament.standing())
    if share is not None:
        lines.append(f"{'█' * round(share * BAR):░<{BAR}} {share:.0%} of its budget")
    return lines


def _leaderboard(tournament: LocalTournament) -> list[str]:
    """Agents by rank, and where their scores belong the ensembles, which have none."""
    rows, agents = tournament.record.leaderboard, tournament.agents
    lines = [f"{'rank':>4}  {'agent':8} {'score':>20}  {'beats next':>10}  {'algorithm':9} from"]
    ranked = []
    for rank, row in enumerate(rows[:MOST_ROWS], start=1):
        agent = agents[row.agent]
        sure = "" if row.beats_next is None else sentences.certainty(row.beats_next)
        origin = sentences.listed([agents[index].name for index in agent.parents]) or "fresh"
        ranked.append((agent.entry.score, _row(str(rank), agent, sure, agent.algorithm, origin)))
    made = [
        (one.score, _row("–", one, "", "ensemble", sentences.listed([agents[index].name for index in one.members])))
        for one in tournament.home.ensembles.values()
    ]
    lines += [line for _, line in placed(ranked, made, lambda part: part[0])]
    if len(rows) > MOST_ROWS:
        lines.append(f"      and {len(rows) - MOST_ROWS} more")
    return lines if rows else ["The leaderboard is empty until the first pod has finished."]


def _row(rank: str, one: AgentRecord | EnsembleRecord, sure: str, algorithm: str, origin: str) -> str:
    assert one.score is not None
    score = sentences.score(one.score, one.score_low, one.score_high)
    return f"{rank:>4}  {one.name:8} {score:>20}  {sure:>10}  {algorithm:9} {origin}"


def _running(tournament: LocalTournament) -> list[str]:
    lines = [""]
    for agent in tournament.pods(PodStatus.RUNNING):
        progress = tournament.latest.get(agent.index)
        text = "starting"
        if progress:
            episodic = (
                "" if progress.episodic_return is None else f"  return {sentences.number(progress.episodic_return)}"
            )
            text = f"{progress.env_steps:>12,} env steps{episodic}"
        lines.append(f"  ▸ {agent.name:8} {text}")
    if tournament.ensemble_share is not None:
        lines.append(f"  ▸ ensemble {tournament.ensemble_share:>7.0%} evaluated")
    return lines
