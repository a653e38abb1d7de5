"""Space freed by hand: which files of a tournament can go, told first and then removed.

Scores, curves, events, hyperparameters and the hashes of checkpoints always stay. What happens by itself to training
states while a tournament runs is in retention.py. Called by whoever may control the tournament.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from podracer_core.errors import SpecError
from podracer_core.tournament import sentences
from webapp.accounts import audit
from webapp.tournaments import events, orchestrator, storage
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.keeping.selectors import CHECKPOINTS, EXPORTS, KINDS, REPLAYS, STATES
from webapp.tournaments.models import Agent, Artefact, LeaderboardEntry, Pod, Tournament

Item = dict[str, Any]

ASKED_KINDS = {EXPORTS: Artefact.Kind.EXPORT, REPLAYS: Artefact.Kind.REPLAY}

NAMES = {
    CHECKPOINTS: ("checkpoint", "checkpoints"),
    STATES: ("training state", "training states"),
    EXPORTS: ("export", "exports"),
    REPLAYS: ("replay", "replays"),
}

WHY = {
    CHECKPOINTS: "Of agents that are neither on the leaderboard nor in an ensemble. They cannot be played any more.",
    STATES: "From which others could go on training, which nobody does once a tournament has ended.",
    EXPORTS: "They can be made again of agents that keep their checkpoint.",
    REPLAYS: "They can be filmed again of agents that keep their checkpoint.",
}

NOT_YET = "Training states are needed while the tournament goes on, and most go by themselves; stop it first."


@dataclass(frozen=True, slots=True)
class Freed:
    """What has gone."""

    files: int
    size: int


# What can go


def preview(tournament_id: int) -> Item:
    """Files and bytes of each kind that would go, and what would stay. Raises Tournament.DoesNotExist."""
    tournament = Tournament.objects.get(pk=tournament_id)
    return {"parts": [_part(tournament, kind) for kind in KINDS]}


def _part(tournament: Tournament, kind: str) -> Item:
    there, going = _total(_there(tournament, kind), kind), _total(_going(tournament, kind), kind)
    return {
        "part": kind,
        "files": going.files,
        "size": going.size,
        "kept_files": there.files - going.files,
        "kept_size": there.size - going.size,
        "why": WHY[kind],
        "problem": _problem(tournament, kind),
    }


def _problem(tournament: Tournament, kind: str) -> str:
    return NOT_YET if kind == STATES and tournament.status not in Tournament.ENDED else ""


def _total(rows: QuerySet[Any], kind: str) -> Freed:
    size = {CHECKPOINTS: "checkpoint_size", STATES: "state_size"}.get(kind, "size")
    found = rows.aggregate(files=Count("pk"), total=Sum(size, default=0))
    return Freed(found["files"], found["total"])


def _there(tournament: Tournament, kind: str) -> QuerySet[Any]:
    """The rows that have a file of `kind`."""
    if kind in ASKED_KINDS:
        made = Artefact.objects.filter(status=Artefact.Status.FINISHED, kind=ASKED_KINDS[kind])
        return made.filter(agent__tournament=tournament)
    if kind == STATES:
        return Agent.objects.filter(tournament=tournament).exclude(state_file="")
    return Agent.every.filter(tournament=tournament).exclude(checkpoint_file="")


def _going(tournament: Tournament, kind: str) -> QuerySet[Any]:
    """Of these the rows whose file nobody needs."""
    there = _there(tournament, kind)
    if _problem(tournament, kind):
        return there.none()
    if kind == CHECKPOINTS:
        return there.filter(~_ranked(), ~_member(), ~_awaited(), kind=Agent.Kind.AGENT)
    return there.filter(~_inherited()) if kind == STATES else there


def _ranked() -> Exists:
    return Exists(LeaderboardEntry.objects.filter(agent=OuterRef("pk")))


def _member() -> Exists:
    """Of an ensemble, also of one that is not made yet."""
    ensembles = Agent.parents.through.objects.filter(from_agent__kind=Agent.Kind.ENSEMBLE)
    return Exists(ensembles.filter(to_agent=OuterRef("pk")))


def _awaited() -> Exists:
    """An export or a replay of it waits for its maker or is being made."""
    open_ones = (Artefact.Status.QUEUED, Artefact.Status.RUNNING)
    return Exists(Artefact.objects.filter(agent=OuterRef("pk"), status__in=open_ones))


def _inherited() -> Exists:
    """A pod that has not ended yet, though its tournament has, may be about to read it."""
    heirs = Agent.parents.through.objects.filter(from_agent__pod__status__in=Pod.ACTIVE)
    return Exists(heirs.filter(to_agent=OuterRef("pk")))


# Removing


def space_free(*, tournament_id: int, parts: Sequence[str]) -> Freed:
    """Remove the files of these kinds that nobody needs, and say so once.

    Raises Tournament.DoesNotExist, SpecError for kinds that there are not, TournamentError for what must wait.
    """
    if not parts or not set(parts) <= set(KINDS):
        raise SpecError([("parts", f"name at least one of {', '.join(KINDS)}")])
    # What is needed is decided under this lock: leaderboard, ensembles and pods change under it.
    with orchestrator.changing_existing(tournament_id) as tournament:
        kinds = [kind for kind in KINDS if kind in parts]
        for problem in filter(None, (_problem(tournament, kind) for kind in kinds)):
            raise TournamentError(problem)
        freed = {kind: _remove(tournament, kind) for kind in kinds}
        whole = Freed(sum(one.files for one in freed.values()), sum(one.size for one in freed.values()))
        if whole.files:
            told = sentences.listed([_told(kind, one.files) for kind, one in freed.items() if one.files])
            text = f"Removed {told} of {tournament.name}, {sentences.size(whole.size)}; scores and curves stay."
            audit.record("space_freed", text, tournament_id=tournament.pk)
            events.record(tournament.pk, "space_freed", text)
    return whole


def _told(kind: str, files: int) -> str:
    return f"{files:,} {NAMES[kind][files != 1]}"


def _remove(tournament: Tournament, kind: str) -> Freed:
    """Rows first; files go once these are committed."""
    # Locked and then looked at again: what was asked for meanwhile is seen, what is asked for now waits.
    locked = [row.pk for row in _going(tournament, kind).select_for_update(of=("self",), no_key=True).only("pk")]
    rows = list(_going(tournament, kind).filter(pk__in=locked))
    chosen = Q(pk__in=[row.pk for row in rows])
    if kind in ASKED_KINDS:
        names = [name for row in rows for name in (row.file, row.poster_file)]
        size = sum(row.size for row in rows)
        Artefact.objects.filter(chosen).delete()
    elif kind == STATES:
        names, size = [row.state_file for row in rows], sum(row.state_size for row in rows)
        Agent.objects.filter(chosen).update(state_file="")
    else:
        names, size = [row.checkpoint_file for row in rows], sum(row.checkpoint_size for row in rows)
        Agent.objects.filter(chosen).update(checkpoint_file="")
    for name in names:
        storage.delete_on_commit(name)
    return Freed(len(rows), size)
