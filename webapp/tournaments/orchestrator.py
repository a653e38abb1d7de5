"""Keeps training pools full: creates agents, hands out pods under a lease, takes their results exactly once, sweeps.

Locks are taken in one order, tournaments before pods, and of several that with the lower id first. Writes of a
running pod carry (pod, attempt) and are refused with PodLostError once another attempt or an end has come in between.
Leases count in database time.

A slot that goes on hands in a pod's result and the last points of its curve, and claims the next pod, all in one
transaction: one wait for the disk, one message to the viewers. A claim waits for no lock. When the next pod is of
another tournament, that one's viewers are told afterwards: it would be locked after pods.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Now

from podracer_core.progress import Directive, PodResult, Progress
from podracer_core.tournament import modes
from webapp.tournaments import board, claims, dispatch, endings, events, lineage, population, progress, retention, rows
from webapp.tournaments.claims import Claim, Report, Taker
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import Agent, Event, Pod, Tournament, Worker

LEASE = timedelta(seconds=10)
"""How long a silent pod is believed. A slot renews it every second."""

RING_AGAIN = timedelta(seconds=2)
"""A pod that waits longer, while slots are free, is rung for again."""


# A tournament's row


# NO KEY: a transaction that updates its pod twice has that pod's foreign keys checked when it commits, which would wait
# here for the tournament while it holds the pod: a deadlock. Nobody changes keys.
_LOCK = rows.Query(
    """
    SELECT {tournament}, clock_timestamp() FROM tournaments_tournament tournament
    WHERE tournament.id = %s FOR NO KEY UPDATE
    """,
    tournament=Tournament,
)


@contextmanager
def changing(tournament_id: int) -> Iterator[Tournament | None]:
    """A transaction that locks a tournament's row and at its end writes what was changed of it. None: it is gone."""
    with transaction.atomic(), rows.together():
        found = _LOCK.first(tournament_id)
        if found is None:
            yield None
            return
        tournament, tournament.now = found
        with _writing(tournament):
            yield tournament


@contextmanager
def _writing(tournament: Tournament) -> Iterator[None]:
    """At its end writes what was changed of a locked tournament, its revision too if anything was published."""
    message, before = events.gather(tournament), _live(tournament)
    yield
    tournament.revision += bool(message.changes)
    if _live(tournament) != before:
        rows.update(tournament, *Tournament.LIVE)


@contextmanager
def changing_existing(tournament_id: int) -> Iterator[Tournament]:
    """As `changing`. Raises Tournament.DoesNotExist."""
    with changing(tournament_id) as tournament:
        if tournament is None:
            raise Tournament.DoesNotExist(f"There is no tournament {tournament_id}.")
        yield tournament


def _live(tournament: Tournament) -> list[Any]:
    return [getattr(tournament, name) for name in Tournament.LIVE]


# Filling the pool


def fill_pool(tournament_id: int) -> int:
    """Create and queue agents while the tournament runs and has room and budget. Returns how many."""
    with changing(tournament_id) as tournament:
        return fill(tournament) if tournament else 0


@dataclass(frozen=True, slots=True)
class Active:
    """Pods of a tournament that have not ended, the env steps that they were promised, and whether CUDA slots take
    pods."""

    pods: int
    env_steps: int
    cuda: bool

    def __add__(self, pod: Pod) -> "Active":
        """With a pod more, unless that has ended."""
        if pod.status not in Pod.ACTIVE:
            return self
        return replace(self, pods=self.pods + 1, env_steps=self.env_steps + (pod.env_steps_budget or 0))


_ACTIVE = """
    SELECT count(*), coalesce(sum(active.env_steps_budget), 0)::bigint, EXISTS (
        SELECT FROM tournaments_worker
        WHERE device_kind = 'cuda' AND drain = '' AND seen_at > statement_timestamp() - %s::interval
    )
    FROM tournaments_pod active WHERE active.status IN ('QUEUED', 'RUNNING')
"""

_ACTIVE_OF = f"{_ACTIVE} AND active.tournament_id = %s"


def fill(tournament: Tournament, served: int = 0, active: Active | None = None) -> int:
    """`fill_pool` of a locked tournament; for `served` of the new pods no slot needs to be rung.

    active: its pods, where they are known
    """
    if tournament.status != Tournament.Status.RUNNING:
        return 0
    spec = tournament.parsed_spec
    active = active or Active(*rows.fetch_one(_ACTIVE_OF, [3 * LEASE, tournament.pk]) or (0, 0, False))
    room = modes.room(spec, pool_size=tournament.pool_size, active=active.pods)
    if spec.stop.pods is not None:
        room = min(room, spec.stop.pods - tournament.pods_finished - active.pods)
    if room <= 0:
        return 0
    taken, created = tournament.env_steps_spent + active.env_steps, 0
    (past, read), device_kind = population.past_of(tournament), _device_kind(spec.pool.device, active.cuda)
    for position in range(room):
        left = modes.env_steps_left(spec, room - position, taken)
        if left == 0:
            break
        place = modes.Place(position, room, left)
        offspring = modes.next_agent(spec, past, tournament.agents_created, place)
        agent = population.agent_create(tournament, offspring, read)
        wanted = population.env_steps_wanted(tournament, agent, offspring.rounds)
        budget = min((steps for steps in (left, wanted) if steps is not None), default=None)
        pod = Pod(agent=agent, tournament=tournament, device_kind=device_kind, env_steps_budget=budget)
        rows.insert(pod, reserved=tournament.key_for(Pod))
        events.publish(tournament.pk, "pod", pod.pk)
        taken, created = taken + (budget or 0), created + 1
    if created:
        events.publish(tournament.pk, "status")
        dispatch.ring(device_kind, max(0, created - served))
    return created


def _device_kind(device: str, cuda: bool) -> str:
    """Where pods of a tournament go: for "auto" to CUDA slots while any take pods."""
    if device != "auto":
        return device
    return str(Pod.DeviceKind.CUDA if cuda else Pod.DeviceKind.CPU)


# Claiming and running


def pod_claim(*, worker: str, slot: int, device_kind: str) -> Claim | None:
    """Claim a queued pod of `device_kind`, or None when there is none, or the worker is drained."""
    pod = claims.next_pod(Taker(worker, slot, device_kind), lease=LEASE)
    if pod is None:
        return None
    # Not together with the claim: raising the revision locks the tournament, which goes before a pod.
    events.publish(pod.tournament_id, "pod", pod.pk)
    return claims.claim_of(pod, told=True)


def claim_tell(claim: Claim) -> None:
    """Tell the viewers of a claim, unless they were."""
    if not claim.told:
        events.publish(claim.tournament_id, "pod", claim.pod_id)


def pod_renew(*, pod_id: int, attempt: int) -> Directive:
    """Renew the lease of a running pod, and say what it shall do. Raises PodLostError."""
    renewed = claims.renew(pod_id=pod_id, attempt=attempt, lease=LEASE)
    if renewed is None:
        raise PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}")
    status, end_requested = renewed
    if status in Tournament.ENDED:
        return Directive.STOP
    if status == Tournament.Status.PAUSED:
        return Directive.PAUSE
    return Directive.END if end_requested else Directive.CONTINUE


def pods_progress(reports: Iterable[Report]) -> set[tuple[int, int]]:
    """Store points of running pods' curves and tell the viewers. Returns id and attempt of the pods that are lost."""
    told: dict[tuple[int, int], list[tuple[int, Report]]] = {}
    waiting = {(report.pod_id, report.attempt): progress.sane(report) for report in reports}
    for pod_id, attempt, agent_id, tournament_id, revision in claims.report([*waiting.values()], lease=LEASE):
        told.setdefault((tournament_id, revision), []).append((agent_id, waiting.pop((pod_id, attempt))))
    for (tournament_id, revision), pods in told.items():
        progress.tell(tournament_id, revision, pods)
    return set(waiting)


def pod_saved(
    *, pod_id: int, attempt: int, state_file: str, env_steps: int, seconds: float, state_size: int = 0
) -> str:
    """A running pod stored a state to go on from. Returns the file that it replaces. Raises PodLostError."""
    with transaction.atomic():
        pod = Pod.objects.select_for_update().filter(pk=pod_id, attempt=attempt, status=Pod.Status.RUNNING).first()
        if pod is None:
            raise PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}")
        replaced = pod.state_file
        pod.state_file, pod.state_size = state_file, state_size
        pod.state_env_steps, pod.state_seconds = env_steps, seconds
        pod.save(update_fields=["state_file", "state_size", "state_env_steps", "state_seconds"])
    return replaced


# Ending


_LOCK_OF = """
    SELECT FROM tournaments_tournament WHERE id = (SELECT tournament_id FROM tournaments_pod WHERE id = %s)
    FOR NO KEY UPDATE
"""
"""Goes before, so that what `_HELD` reads is what the last to change the tournament has left."""

_HELD = rows.Query(
    """
    SELECT {pod}, {agent}, {tournament}, clock_timestamp(), {parents}, {entries}, {event_key}, {pod_key}, others.*
    FROM tournaments_pod pod
    JOIN tournaments_agent agent ON agent.id = pod.agent_id
    JOIN tournaments_tournament tournament ON tournament.id = pod.tournament_id
    CROSS JOIN LATERAL ({active} AND active.tournament_id = pod.tournament_id AND active.id <> pod.id) others
    WHERE pod.id = %s AND pod.attempt = %s AND pod.status = 'RUNNING' FOR UPDATE OF pod
    """,
    pod=Pod,
    agent=Agent,
    tournament=Tournament,
    parents=lineage.PARENTS,
    entries=board.ENTRIES,
    active=_ACTIVE,
    # Of what nearly every end brings: an event, and the next pod.
    event_key=rows.next_key(Event),
    pod_key=rows.next_key(Pod),
)


@contextmanager
def _ending(pod_id: int, attempt: int) -> Iterator[tuple[Tournament, Pod, Active]]:
    """As `changing`, of a pod that has ended, which is locked after its tournament; with it the tournament's others.

    Raises PodLostError.
    """
    with transaction.atomic(), rows.together():
        rows.execute(_LOCK_OF, [pod_id])
        found = _HELD.first(3 * LEASE, pod_id, attempt)
        if found is None:
            raise PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}")
        pod, pod.agent, tournament, tournament.now, parents, entries, event_key, pod_key, *others = found
        tournament.reserved = {Event: event_key, Pod: pod_key}
        pod.agent.tournament = tournament
        lineage.parents_found(pod.agent, parents)
        board.entries_found(tournament, entries)
        with _writing(tournament):
            yield tournament, pod, Active(*others)


def pod_finish(
    *,
    pod_id: int,
    attempt: int,
    result: PodResult,
    files: StoredFiles,
    points: Sequence[Progress] = (),
    taker: Taker | None = None,
) -> Claim | None:
    """Take what a pod ended with, exactly once; rank its agent, end the tournament or fill the pool.

    The files are in storage already. points: of its curve, not reported yet. taker: the slot, if it goes on; the pod
    that it claims is returned. Raises PodLostError, and then nothing is written.
    """
    with _ending(pod_id, attempt) as (tournament, pod, others):
        progress.last_words(pod, points)
        endings.pod_end(tournament, pod, result, files)
        endings.end_if_done(tournament)
        fill(tournament, served=1 if taker else 0, active=others + pod)
        retention.states_release(tournament)
        events.publish(tournament.pk, "status")
        following = claims.next_pod(taker, lease=LEASE) if taker else None
        told = following is not None and following.tournament_id == tournament.pk
        if following and told:
            events.publish(tournament.pk, "pod", following.pk)
    # What a pod cannot be started for must not take back the result of the one before.
    return claims.claim_of(following, told) if following else None


# Sweeping


def sweep() -> None:
    """Put right what no message will: expired leases, time-based stop rules, pools with room, unheard rings."""
    expired = Pod.objects.filter(status=Pod.Status.RUNNING, lease_until__lt=Now())
    for pod_id, tournament_id in expired.values_list("pk", "tournament_id"):
        _sweep_pod(pod_id, tournament_id)
    for tournament_id in Tournament.objects.filter(status=Tournament.Status.RUNNING).values_list("pk", flat=True):
        with changing(tournament_id) as tournament:
            if tournament:
                endings.end_if_done(tournament)
                fill(tournament)
    _ring_again()


def _sweep_pod(pod_id: int, tournament_id: int) -> None:
    with changing(tournament_id) as tournament:
        pod = (
            Pod.objects.select_for_update(of=("self",))
            .select_related("agent")
            .filter(pk=pod_id, status=Pod.Status.RUNNING, lease_until__lt=Now())
            .first()
        )
        if tournament is None or pod is None:
            return
        if tournament.status == Tournament.Status.RUNNING:
            endings.retry_or_fail(tournament, pod, f"Nothing was heard of it for {LEASE.seconds} seconds.")
            endings.end_if_done(tournament)
            fill(tournament)
        else:
            endings.lost(tournament, pod)
        events.publish(tournament.pk, "status")


def _ring_again() -> None:
    """Ring for pods that wait while slots of their kind are free; no more often than there are such slots."""
    for kind in Pod.DeviceKind.values:
        waiting = Pod.objects.filter(
            status=Pod.Status.QUEUED,
            device_kind=kind,
            tournament__status=Tournament.Status.RUNNING,
            queued_at__lt=Now() - RING_AGAIN,
        ).count()
        if waiting:
            online = Worker.objects.filter(device_kind=kind, seen_at__gt=Now() - 3 * LEASE)
            slots = online.aggregate(total=Sum("slots", default=0))["total"]
            busy = Pod.objects.filter(status=Pod.Status.RUNNING, device_kind=kind).count()
            dispatch.ring(kind, max(0, min(waiting, slots - busy)))
