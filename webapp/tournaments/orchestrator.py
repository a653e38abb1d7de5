"""Keeps training pools full: creates agents, hands out pods under a lease, takes their results exactly once, sweeps.

Locks are taken in one order, tournament before pod. Writes of a running pod carry (pod, attempt) and are
refused with PodLostError once another attempt or an end has come in between. Leases count in database time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce, Now

from podracer_core.progress import Directive, PodResult, Progress
from podracer_core.tournament import modes
from webapp.tournaments import board, clock, dispatch, draining, endings, events, lineage, population, retention
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import CurvePoint, Pod, Tournament, Worker

LEASE = timedelta(seconds=10)
"""How long a silent pod is believed. A slot renews it every second."""

RING_AGAIN = timedelta(seconds=2)
"""A pod that waits longer, while slots are free, is rung for again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A pod that a slot has claimed, and what it needs to run it. Files are storage names, "" where there is none.

    inherit_files: of the agents whose weights it starts with; it says which is lost by the position here
    """

    pod_id: int
    attempt: int
    tournament_id: int
    agent_id: int
    plan: dict[str, Any]
    resume_file: str
    inherit_files: tuple[str, ...]


# Filling the pool


def fill_pool(tournament_id: int) -> int:
    """Create and queue agents while the tournament runs and has room and budget. Returns how many."""
    with transaction.atomic():
        tournament = lock(tournament_id)
        return _fill(tournament) if tournament else 0


def lock(tournament_id: int) -> Tournament | None:
    """The tournament with its row locked until the transaction ends; None when it is gone.

    no_key: a transaction that updates its pod twice has that pod's foreign keys checked when it commits, which
    would wait here for the tournament while it holds the pod: a deadlock. Nobody changes keys.
    """
    return Tournament.objects.select_for_update(no_key=True).filter(pk=tournament_id).first()


def _fill(tournament: Tournament, served: int = 0) -> int:
    """`fill_pool` of a locked tournament; for `served` of the new pods no slot needs to be rung."""
    if tournament.status != Tournament.Status.RUNNING:
        return 0
    spec = tournament.parsed_spec
    counts = tournament.pods.aggregate(
        active=Count("pk", filter=Q(status__in=Pod.ACTIVE)),
        finished=Count("pk", filter=Q(status=Pod.Status.FINISHED)),
        spent=Sum("env_steps", filter=~Q(status__in=Pod.ACTIVE), default=0),
        promised=Sum("env_steps_budget", filter=Q(status__in=Pod.ACTIVE), default=0),
    )
    room = modes.room(spec, pool_size=tournament.pool_size, active=counts["active"])
    if spec.stop.pods is not None:
        room = min(room, spec.stop.pods - counts["finished"] - counts["active"])
    taken, created = counts["spent"] + counts["promised"], 0
    past, device_kind = population.past_of(tournament), _device_kind(spec.pool.device)
    for position in range(room):
        left = modes.env_steps_left(spec, room - position, taken)
        if left == 0:
            break
        place = modes.Place(position, room, left)
        offspring = modes.next_agent(spec, past, tournament.agents_created, place)
        agent = population.agent_create(tournament, offspring)
        wanted = population.env_steps_wanted(tournament, agent, offspring.rounds)
        budget = min((steps for steps in (left, wanted) if steps is not None), default=None)
        pod = Pod.objects.create(agent=agent, tournament=tournament, device_kind=device_kind, env_steps_budget=budget)
        events.publish(tournament.pk, "pod", pod.pk)
        taken, created = taken + (budget or 0), created + 1
    if not created:
        return 0
    tournament.save(update_fields=["agents_created"])
    events.publish(tournament.pk, "status")
    dispatch.ring(device_kind, max(0, created - served))
    return created


def _device_kind(device: str) -> str:
    """Where pods of a tournament go: for "auto" to CUDA slots while any take pods."""
    if device != "auto":
        return device
    taking = Worker.objects.filter(device_kind=Pod.DeviceKind.CUDA, seen_at__gt=Now() - 3 * LEASE, drain="")
    return str(Pod.DeviceKind.CUDA if taking.exists() else Pod.DeviceKind.CPU)


# Claiming and running


def pod_claim(*, worker: str, slot: int, device_kind: str) -> Claim | None:
    """Claim a queued pod of `device_kind`, or None when there is none, or the worker is drained.

    The highest priority goes first; among equals the tournament that has the fewest pods running, so that a large
    pool does not keep a small one waiting; then the oldest pod.
    """
    running = Pod.objects.filter(tournament=OuterRef("tournament"), status=Pod.Status.RUNNING).order_by()
    count = running.values("tournament").annotate(total=Count("pk")).values("total")
    with transaction.atomic():
        pod = (
            Pod.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("tournament", "agent")
            .filter(
                ~draining.drained(worker),
                status=Pod.Status.QUEUED,
                device_kind=device_kind,
                tournament__status=Tournament.Status.RUNNING,
            )
            .order_by("-tournament__priority", Coalesce(Subquery(count), 0), "queued_at", "pk")
            .first()
        )
        if pod is None:
            return None
        CurvePoint.objects.filter(agent_id=pod.agent_id, env_steps__gt=pod.state_env_steps).delete()
        Pod.objects.filter(pk=pod.pk).update(
            status=Pod.Status.RUNNING,
            attempt=pod.attempt + 1,
            lease_until=Now() + LEASE,
            worker=worker,
            slot=slot,
            env_steps=pod.state_env_steps,
            seconds=pod.state_seconds,
            env_steps_per_second=0,
            claimed_at=Now(),
            stepping_since=None,
            started_at=pod.started_at or Now(),
            reason="",
        )
    # Not in the transaction above: raising the revision locks the tournament, which goes before a pod.
    events.publish(pod.tournament_id, "pod", pod.pk)
    return Claim(
        pod_id=pod.pk,
        attempt=pod.attempt + 1,
        tournament_id=pod.tournament_id,
        agent_id=pod.agent_id,
        plan=_plan(pod),
        resume_file=pod.state_file,
        # A pod that goes on from its own state needs its parents no more.
        inherit_files=() if pod.state_file else tuple(donor.state_file for donor in lineage.donors(pod.agent)),
    )


def _plan(pod: Pod) -> dict[str, Any]:
    """The pod's plan but for what depends on the machine: device, threads, paths."""
    agent, tournament = pod.agent, pod.tournament
    spec = tournament.parsed_spec
    return {
        **population.plan_of(agent),
        "env_id": spec.env_id,
        "env_steps": pod.env_steps_budget,
        # A schedule is as long as what it repeats.
        "seconds": None if agent.schedule else spec.round.seconds,
        "eval_episodes": spec.leaderboard.eval_episodes,
        "score": spec.leaderboard.score,
        "target_score": spec.stop.score,
        "reevaluate": spec.leaderboard.reevaluate,
        "bar": board.bar_of(tournament, agent),
    }


def pod_renew(*, pod_id: int, attempt: int) -> Directive:
    """Renew the lease of a running pod, and say what it shall do. Raises PodLostError."""
    held = Pod.objects.filter(pk=pod_id, attempt=attempt, status=Pod.Status.RUNNING)
    if not held.update(lease_until=Now() + LEASE):
        raise PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}")
    row = held.values_list("tournament__status", "end_requested").first()
    if row is None or row[0] in Tournament.ENDED:
        return Directive.STOP
    if row[0] == Tournament.Status.PAUSED:
        return Directive.PAUSE
    return Directive.END if row[1] else Directive.CONTINUE


def pod_progress(*, pod_id: int, attempt: int, points: Iterable[Progress]) -> None:
    """Store points of a running pod's curve and tell the viewers. Raises PodLostError."""
    points = sorted(map(_finite, points), key=lambda point: point.env_steps)
    latest = points[-1]
    with transaction.atomic():
        held = Pod.objects.filter(pk=pod_id, attempt=attempt, status=Pod.Status.RUNNING)
        if not held.update(
            env_steps=latest.env_steps,
            seconds=latest.seconds,
            env_steps_per_second=latest.env_steps_per_second,
            episodic_return=latest.episodic_return,
            lease_until=Now() + LEASE,
        ):
            raise PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}")
        pod = held.only("agent_id", "tournament_id", "stepping_since", "state_seconds").get()
        if pod.stepping_since is None:
            held.update(stepping_since=_stepping_since(points[0], pod.state_seconds))
        CurvePoint.objects.bulk_create(
            [
                CurvePoint(
                    agent_id=pod.agent_id,
                    attempt=attempt,
                    env_steps=point.env_steps,
                    seconds=point.seconds,
                    episodic_return=point.episodic_return,
                    losses=point.losses,
                )
                for point in points
            ],
            ignore_conflicts=True,
        )
    events.publish(pod.tournament_id, "curve", pod.agent_id, _curve_message(pod, attempt, points))


def _finite(point: Progress) -> Progress:
    """The point without NaN and infinities, as a diverging agent reports them: JSON columns refuse them."""
    return replace(
        point,
        env_steps_per_second=clock.finite(point.env_steps_per_second) or 0.0,
        episodic_return=clock.finite(point.episodic_return),
        losses={name: value for name, value in point.losses.items() if clock.finite(value) is not None},
    )


def _stepping_since(first: Progress, seconds_before: float) -> datetime:
    """When an attempt that began with `seconds_before` of training behind it took its first env step."""
    return datetime.fromtimestamp(first.sent_at - (first.seconds - seconds_before), UTC)


def _curve_message(pod: Pod, attempt: int, points: list[Progress]) -> dict[str, Any]:
    """New points as columns, with the time at which the newest left its pod."""
    names = sorted({name for point in points for name in point.losses})
    return {
        "agent": str(pod.agent_id),
        "pod": str(pod.pk),
        "attempt": attempt,
        "sent_at": points[-1].sent_at,
        "env_steps_per_second": points[-1].env_steps_per_second,
        "env_steps": [point.env_steps for point in points],
        "seconds": [point.seconds for point in points],
        "episodic_return": [point.episodic_return for point in points],
        **{name: [point.losses.get(name) for point in points] for name in names},
    }


def pod_saved(*, pod_id: int, attempt: int, state_file: str, env_steps: int, seconds: float) -> str:
    """A running pod stored a state to go on from. Returns the file that it replaces. Raises PodLostError."""
    with transaction.atomic():
        pod = Pod.objects.select_for_update().filter(pk=pod_id, attempt=attempt, status=Pod.Status.RUNNING).first()
        if pod is None:
            raise PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}")
        replaced = pod.state_file
        pod.state_file, pod.state_env_steps, pod.state_seconds = state_file, env_steps, seconds
        pod.save(update_fields=["state_file", "state_env_steps", "state_seconds"])
    return replaced


# Ending


def pod_finish(*, pod_id: int, attempt: int, result: PodResult, files: StoredFiles) -> None:
    """Take what a pod ended with, exactly once; rank its agent, end the tournament or fill the pool.

    The files are in storage already. Raises PodLostError, and then nothing is written.
    """
    tournament_id = Pod.objects.filter(pk=pod_id).values_list("tournament_id", flat=True).first()
    with transaction.atomic():
        tournament = lock(tournament_id) if tournament_id else None
        pod = (
            Pod.objects.select_for_update(of=("self",))
            .select_related("agent")
            .filter(pk=pod_id, attempt=attempt, status=Pod.Status.RUNNING)
            .first()
        )
        if tournament is None or pod is None:
            raise PodLostError(f"pod {pod_id} is no longer run by attempt {attempt}")
        endings.pod_end(tournament, pod, result, files)
        endings.end_if_done(tournament)
        # The slot that hands in this result claims the next pod itself, with no ring.
        _fill(tournament, served=1)
        retention.states_release(tournament)
        events.publish(tournament.pk, "status")


# Sweeping


def sweep() -> None:
    """Put right what no message will: expired leases, time-based stop rules, pools with room, unheard rings."""
    expired = Pod.objects.filter(status=Pod.Status.RUNNING, lease_until__lt=Now())
    for pod_id, tournament_id in expired.values_list("pk", "tournament_id"):
        _sweep_pod(pod_id, tournament_id)
    for tournament_id in Tournament.objects.filter(status=Tournament.Status.RUNNING).values_list("pk", flat=True):
        with transaction.atomic():
            tournament = lock(tournament_id)
            if tournament:
                endings.end_if_done(tournament)
                _fill(tournament)
    _ring_again()


def _sweep_pod(pod_id: int, tournament_id: int) -> None:
    with transaction.atomic():
        tournament = lock(tournament_id)
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
            _fill(tournament)
        else:
            endings.requeue(tournament, pod)
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
