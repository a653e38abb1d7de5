"""Exports and replays: asked for by people, claimed and made by workers, given up when nobody is heard of.

Ensembles are claimed and renewed here as well; ensembles.py asks for them and takes what they end with.

Writes of a running artefact carry (artefact, attempt) and are refused with ArtefactLostError once another attempt or
an end has come in between. Leases count in database time.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from podracer_core.errors import SpecError
from webapp.accounts import audit
from webapp.tournaments import clock, dispatch, events, lineage, storage
from webapp.tournaments.errors import ArtefactLostError, TournamentError
from webapp.tournaments.models import Agent, Artefact, Worker
from webapp.tournaments.workers import draining

Status = Artefact.Status

LEASE = timedelta(seconds=15)
"""How long a silent maker is believed. It renews every second."""

RING_AGAIN = timedelta(seconds=3)
PATIENCE = timedelta(seconds=60)
"""For a worker to come online, where none is."""

WORKER_SILENCE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class ArtefactClaim:
    """An artefact that a worker has claimed.

    checkpoint_files: storage names, of the agent's checkpoint or of those of an ensemble's members, the best first
    job: what the maker of an ensemble is told beside these
    """

    artefact_id: int
    attempt: int
    tournament_id: int
    agent_id: int
    kind: str
    name: str
    checkpoint_files: tuple[str, ...]
    job: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MadeFile:
    """What a maker stored: storage names, "" where there is no poster."""

    file: str
    sha256: str
    size: int
    poster_file: str = ""


def artefact_request(*, agent_id: int, kind: str, name: str) -> None:
    """Have it made unless it is there or under way. Asking for a failed or lost one tries again.

    Raises Agent.DoesNotExist, SpecError for a name that there is not, TournamentError without a checkpoint.
    """
    names = Artefact.NAMES[Artefact.Kind(kind)]
    if name not in names:
        field = "format" if kind == Artefact.Kind.EXPORT else "episode"
        raise SpecError([(field, f"there is no {name!r}; there are {', '.join(names)}")])
    with transaction.atomic():
        # Locked, so that its checkpoint is not removed to free space before this is known.
        agent = Agent.every.select_for_update(no_key=True).get(pk=agent_id)
        _check(agent, kind)
        artefact, created = Artefact.objects.select_for_update().get_or_create(
            agent=agent, kind=kind, name=name, defaults={"requested_at": clock.database_now()}
        )
        if not created and not _again(artefact):
            return
        artefact.status, artefact.reason, artefact.progress = Status.QUEUED, "", 0.0
        artefact.requested_at, artefact.finished_at = clock.database_now(), None
        artefact.save()
        text = f"Asked for the {kind} {name} of agent {agent.name}."
        audit.record(f"{kind}_requested", text, tournament_id=agent.tournament_id)
        dispatch.ring_artefacts()


def _check(agent: Agent, kind: str) -> None:
    """Raises TournamentError for what cannot be made of an agent or an ensemble, or not yet."""
    ensemble = agent.kind == Agent.Kind.ENSEMBLE
    if ensemble and kind == Artefact.Kind.EXPORT:
        raise TournamentError(f"{agent.name} is an ensemble and cannot be exported; each of its members can.")
    if agent.checkpoint_file:
        return
    if ensemble:
        raise TournamentError(f"{agent.name} has no checkpoint: it is not made yet, or could not be.")
    if agent.checkpoint_sha256:
        raise TournamentError(f"The checkpoint of agent {agent.name} was removed to free space.")
    raise TournamentError(f"Agent {agent.name} has no checkpoint: its pod has not ended, or it ended without one.")


def _again(artefact: Artefact) -> bool:
    """Whether it has to be made anew: it failed, or storage has lost it."""
    if artefact.status == Status.FINISHED:
        return not storage.exists(artefact.file)
    return artefact.status == Status.FAILED


def artefact_claim(*, worker: str) -> ArtefactClaim | None:
    """Claim the artefact that has waited longest, or None when none waits, or the worker is drained."""
    with transaction.atomic():
        artefact = (
            Artefact.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("agent")
            .filter(~draining.drained(worker), status=Status.QUEUED)
            .order_by("requested_at", "pk")
            .first()
        )
        if artefact is None:
            return None
        attempt = artefact.attempt + 1
        Artefact.objects.filter(pk=artefact.pk).update(
            status=Status.RUNNING, attempt=attempt, worker=worker, lease_until=Now() + LEASE, progress=0.0
        )
    agent, sources, job = artefact.agent, [artefact.agent], {}
    if artefact.kind == Artefact.Kind.ENSEMBLE:
        sources, job = lineage.members(agent), artefact.details
        events.publish(agent.tournament_id, "leaderboard")
    files = tuple(source.checkpoint_file for source in sources)
    return ArtefactClaim(artefact.pk, attempt, agent.tournament_id, agent.pk, artefact.kind, artefact.name, files, job)


def artefact_renew(*, claim: ArtefactClaim, progress: float) -> None:
    """Renew the lease and show how far it is. Raises ArtefactLostError."""
    _write(claim, lease_until=Now() + LEASE, progress=progress)


def artefact_finish(*, claim: ArtefactClaim, made: MadeFile, details: dict[str, Any]) -> None:
    """Raises ArtefactLostError."""
    _write(
        claim,
        status=Status.FINISHED,
        lease_until=None,
        progress=1.0,
        file=made.file,
        poster_file=made.poster_file,
        sha256=made.sha256,
        size=made.size,
        details=details,
        finished_at=Now(),
    )


def artefact_fail(*, claim: ArtefactClaim, reason: str) -> None:
    """Raises ArtefactLostError."""
    reason = clock.storable(reason)
    _write(claim, status=Status.FAILED, lease_until=None, reason=reason, finished_at=Now())


def artefact_requeue(*, claim: ArtefactClaim) -> None:
    """A worker that stops or is drained hands back what it had begun. Raises ArtefactLostError."""
    _write(claim, status=Status.QUEUED, lease_until=None, requested_at=Now())


def _write(claim: ArtefactClaim, **values: Any) -> None:
    held = Artefact.objects.filter(pk=claim.artefact_id, attempt=claim.attempt, status=Status.RUNNING)
    if not held.update(**values):
        raise ArtefactLostError(f"artefact {claim.artefact_id} is no longer made by attempt {claim.attempt}")


def sweep() -> None:
    """Give up what nobody makes any more or ever will, and ring for what waits. Ensembles are not given up here."""
    asked = Artefact.objects.exclude(kind=Artefact.Kind.ENSEMBLE)
    lost = asked.filter(status=Status.RUNNING, lease_until__lt=Now())
    for worker in set(lost.values_list("worker", flat=True)):
        reason = f"Nothing was heard of its worker, {worker}, for {LEASE.seconds} seconds."
        lost.filter(worker=worker).update(status=Status.FAILED, lease_until=None, reason=reason, finished_at=Now())
    waiting = Artefact.objects.filter(status=Status.QUEUED, requested_at__lt=Now() - RING_AGAIN)
    if not waiting.exists():
        return
    if workers_online():
        dispatch.ring_artefacts()
        return
    remedy = "start one with make run or make worker, or resume a drained one."
    reason = f"No worker came online within {PATIENCE.seconds} seconds; {remedy}"
    given_up = asked.filter(status=Status.QUEUED, requested_at__lt=Now() - PATIENCE)
    given_up.update(status=Status.FAILED, reason=reason, finished_at=Now())


def workers_online() -> bool:
    """Whether any worker is there that is not drained."""
    return Worker.objects.filter(seen_at__gt=Now() - WORKER_SILENCE, drain=Worker.Drain.NO).exists()
