"""Keeps training pools full: creates agents, hands out pods under a lease, takes their results exactly once, sweeps.

Locks are taken in one order, tournament before pod. Writes of a running pod carry (pod, attempt) and are
refused with PodLostError once another attempt or an end has come in between. Leases count in database time.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from podracer_core.progress import Directive, Evaluation, Outcome, PodResult, Progress
from podracer_core.tournament.generator import Offspring, generate
from podracer_core.tournament.stopping import Standing, stop_reason
from webapp.tournaments import board, clock, dispatch, events, sentences
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import Agent, CurvePoint, Pod, PodLogLine, Tournament, Worker

LEASE = timedelta(seconds=10)
"""How long a silent pod is believed. A slot renews it every second."""

MAX_LOSSES = 3
"""A pod that was lost this often is FAILED."""

RING_AGAIN = timedelta(seconds=2)
"""A pod that waits longer, while slots are free, is rung for again."""

NAME_LETTERS = "abcdefghjkmnpqrstuvwxyz"
NAME_DIGITS = "23456789"


@dataclass(frozen=True, slots=True)
class Claim:
    """A pod that a slot has claimed, and what it needs to run it. Files are storage names, "" where there is none."""

    pod_id: int
    attempt: int
    tournament_id: int
    agent_id: int
    plan: dict[str, Any]
    resume_file: str
    inherit_file: str


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """What a pod's end left in storage; names are "" where nothing was written."""

    checkpoint_file: str = ""
    checkpoint_sha256: str = ""
    checkpoint_size: int = 0
    state_file: str = ""


# Filling the pool


def fill_pool(tournament_id: int) -> int:
    """Create and queue agents while the tournament runs and has room and budget. Returns how many."""
    with transaction.atomic():
        tournament = lock(tournament_id)
        return _fill(tournament) if tournament else 0


def lock(tournament_id: int) -> Tournament | None:
    """The tournament with its row locked until the transaction ends; None when it is gone."""
    return Tournament.objects.select_for_update().filter(pk=tournament_id).first()


def _fill(tournament: Tournament) -> int:
    if tournament.status != Tournament.Status.RUNNING:
        return 0
    spec = tournament.parsed_spec
    counts = tournament.pods.aggregate(
        active=Count("pk", filter=Q(status__in=Pod.ACTIVE, end_requested=False)),
        ending=Count("pk", filter=Q(status__in=Pod.ACTIVE, end_requested=True)),
        finished=Count("pk", filter=Q(status=Pod.Status.FINISHED)),
        env_steps=Sum("env_steps", default=0),
    )
    room = tournament.pool_size - counts["active"]
    if spec.stop.pods is not None:
        room = min(room, spec.stop.pods - counts["finished"] - counts["active"] - counts["ending"])
    if spec.stop.env_steps is not None and counts["env_steps"] >= spec.stop.env_steps:
        room = 0
    if room <= 0:
        return 0
    parents = board.parents_available(tournament)
    device_kind = _device_kind(spec.pool.device)
    for _ in range(room):
        offspring = generate(spec, [parent for _, parent in parents.values()], tournament.agents_created)
        _create_pod(tournament, offspring, [parents[index][0] for index in offspring.parents], device_kind)
    tournament.save(update_fields=["agents_created"])
    events.publish(tournament.pk, "status")
    dispatch.ring(device_kind, room)
    return room


def _create_pod(tournament: Tournament, offspring: Offspring, parents: list[Agent], device_kind: str) -> Pod:
    heir_of = parents[0] if parents else None
    index = tournament.agents_created
    agent = Agent.objects.create(
        tournament=tournament,
        index=index,
        name=_agent_name(tournament, index),
        algorithm=offspring.algorithm,
        hyperparameters=offspring.hyperparameters,
        seed=offspring.seed,
        strategy=offspring.strategy,
        founder_index=heir_of.founder_index if heir_of else index,
        depth=heir_of.depth + 1 if heir_of else 0,
        changes=offspring.changes or {},
        base_env_steps=heir_of.base_env_steps + heir_of.env_steps if heir_of else 0,
    )
    agent.parents.set(parents)
    tournament.agents_created += 1
    pod = Pod.objects.create(agent=agent, tournament=tournament, device_kind=device_kind)
    events.publish(tournament.pk, "pod", pod.pk)
    return pod


def _agent_name(tournament: Tournament, index: int) -> str:
    """Four signs that can be said and told apart, another for each agent of the tournament."""
    rng = Random(f"{tournament.pk}/{index}")
    for length in (4, 4, 4, 4, 5, 6, 7, 8):
        name = rng.choice(NAME_LETTERS) + "".join(rng.choices(NAME_LETTERS + NAME_DIGITS, k=length - 1))
        if not Agent.objects.filter(tournament=tournament, name=name).exists():
            return name
    return f"n{index}"


def _device_kind(device: str) -> str:
    """Where pods of a tournament go: for "auto" to CUDA slots while there are any."""
    if device != "auto":
        return device
    online = Worker.objects.filter(device_kind=Pod.DeviceKind.CUDA, seen_at__gt=Now() - 3 * LEASE).exists()
    return str(Pod.DeviceKind.CUDA if online else Pod.DeviceKind.CPU)


# Claiming and running


def pod_claim(*, worker: str, slot: int, device_kind: str) -> Claim | None:
    """Claim the queued pod of `device_kind` that comes first by priority and age, or None when there is none."""
    with transaction.atomic():
        pod = (
            Pod.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("tournament", "agent")
            .filter(
                status=Pod.Status.QUEUED,
                device_kind=device_kind,
                tournament__status=Tournament.Status.RUNNING,
            )
            .order_by("-tournament__priority", "queued_at", "pk")
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
        inherit_file=_inherit_file(pod.agent),
    )


def _inherit_file(agent: Agent) -> str:
    parent = agent.parents.first()
    return parent.state_file if parent else ""


def _plan(pod: Pod) -> dict[str, Any]:
    """The pod's plan but for what depends on the machine: device, threads, paths."""
    agent, tournament = pod.agent, pod.tournament
    spec = tournament.parsed_spec
    return {
        "env_id": spec.env_id,
        "algorithm": agent.algorithm,
        "hyperparameters": agent.hyperparameters,
        "seed": agent.seed,
        "num_envs": spec.num_envs(agent.algorithm),
        "env_steps": spec.round.env_steps,
        "seconds": spec.round.seconds,
        "eval_episodes": spec.leaderboard.eval_episodes,
        "score": spec.leaderboard.score,
        "target_score": spec.stop.score,
        "lineage": {
            "tournament": tournament.name,
            "agent": agent.name,
            "parents": list(agent.parents.values_list("name", flat=True)),
            "strategy": agent.strategy,
            "base_env_steps": agent.base_env_steps,
        },
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
    points = sorted(points, key=lambda point: point.env_steps)
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
        pod = held.only("agent_id", "tournament_id").get()
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


def pod_log(*, pod_id: int, text: str, level: str = "info") -> None:
    """Add a line to a pod's log."""
    PodLogLine.objects.create(pod_id=pod_id, text=text, level=level)


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
        pod.env_steps, pod.seconds = result.env_steps, result.seconds
        _END[result.outcome](tournament, pod, result, files)
        end_if_done(tournament)
        _fill(tournament)
        events.publish(tournament.pk, "status")


def _end_finished(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    assert result.evaluation is not None
    agent = pod.agent
    _keep(agent, result, files)
    _score(agent, result.evaluation, result.confirmation)
    agent.save()
    _end_pod(pod, Pod.Status.FINISHED)
    board.consider(tournament, pod, agent)
    target = tournament.parsed_spec.stop.score
    if target is not None and result.confirmation is not None:
        confirmed = result.confirmation.score >= target
        shown = sentences.score(
            result.confirmation.score, result.confirmation.score_low, result.confirmation.score_high
        )
        text = (
            f"{agent.name} {'holds' if confirmed else 'misses'} the target of {sentences.number(target)}: "
            f"{shown} over {result.confirmation.episodes} further episodes."
        )
        kind = "target_confirmed" if confirmed else "target_missed"
        events.record(tournament.pk, kind, text, agent=agent, pod=pod)


def _end_stopped(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    _keep(pod.agent, result, files)
    pod.agent.save()
    _end_pod(pod, Pod.Status.STOPPED, tournament.reason)


def _end_paused(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    """Back into the queue from the state that it saved; nothing is charged for a pause."""
    if files.state_file:
        pod.state_file, pod.state_env_steps, pod.state_seconds = (
            files.state_file,
            result.env_steps,
            result.seconds,
        )
    _requeue(tournament, pod)


def _end_failed(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    if result.retryable:
        _retry_or_fail(tournament, pod, result.reason)
        return
    _keep(pod.agent, result, files)
    pod.agent.save()
    _fail(tournament, pod, result.reason)


_END = {
    Outcome.FINISHED: _end_finished,
    Outcome.STOPPED: _end_stopped,
    Outcome.PAUSED: _end_paused,
    Outcome.FAILED: _end_failed,
}


def _keep(agent: Agent, result: PodResult, files: StoredFiles) -> None:
    agent.env_steps, agent.seconds = result.env_steps, result.seconds
    if files.checkpoint_file:
        agent.checkpoint_file = files.checkpoint_file
        agent.checkpoint_sha256 = files.checkpoint_sha256
        agent.checkpoint_size = files.checkpoint_size
    if files.state_file:
        agent.state_file = files.state_file


def _score(agent: Agent, evaluation: Evaluation, confirmation: Evaluation | None) -> None:
    agent.score = clock.finite(evaluation.score)
    agent.score_low = clock.finite(evaluation.score_low)
    agent.score_high = clock.finite(evaluation.score_high)
    agent.mean, agent.iqm = clock.finite(evaluation.mean), clock.finite(evaluation.iqm)
    agent.returns = [clock.finite(value) for value in evaluation.returns]
    agent.scored_at = clock.database_now()
    if confirmation is not None:
        agent.confirmation = {
            "score": clock.finite(confirmation.score),
            "score_low": clock.finite(confirmation.score_low),
            "score_high": clock.finite(confirmation.score_high),
            "episodes": confirmation.episodes,
        }


def _end_pod(pod: Pod, status: str, reason: str = "") -> None:
    pod.status, pod.reason = status, reason
    pod.lease_until = None
    pod.env_steps_per_second = 0
    pod.finished_at = clock.database_now()
    pod.state_file = ""
    pod.save()
    events.publish(pod.tournament_id, "pod", pod.pk)


def _requeue(tournament: Tournament, pod: Pod) -> None:
    if tournament.status in Tournament.ENDED:
        stop_queued(tournament, pod, tournament.reason)
        return
    pod.status, pod.lease_until, pod.env_steps_per_second = Pod.Status.QUEUED, None, 0
    pod.env_steps, pod.seconds = pod.state_env_steps, pod.state_seconds
    pod.worker, pod.slot = "", None
    pod.save()
    events.publish(tournament.pk, "pod", pod.pk)
    if tournament.status == Tournament.Status.RUNNING:
        dispatch.ring(pod.device_kind)


def stop_queued(tournament: Tournament, pod: Pod, reason: str) -> None:
    """End a pod that is not running, keeping what its last saved state has. Both rows are locked."""
    agent = pod.agent
    if pod.state_file:
        agent.state_file, agent.env_steps, agent.seconds = (
            pod.state_file,
            pod.state_env_steps,
            pod.state_seconds,
        )
        agent.save(update_fields=["state_file", "env_steps", "seconds"])
    pod.env_steps, pod.seconds = pod.state_env_steps, pod.state_seconds
    _end_pod(pod, Pod.Status.STOPPED, reason)


def _retry_or_fail(tournament: Tournament, pod: Pod, reason: str) -> None:
    pod.losses += 1
    if pod.losses >= MAX_LOSSES:
        _fail(tournament, pod, f"Given up after {pod.losses} attempts: {reason}")
        return
    text = sentences.retried(pod.agent.name, pod.worker, pod.state_env_steps)
    pod_log(pod_id=pod.pk, text=f"{reason} {text}", level="warning")
    events.record(tournament.pk, "pod_retried", text, agent=pod.agent, pod=pod)
    _requeue(tournament, pod)


def _fail(tournament: Tournament, pod: Pod, reason: str) -> None:
    _end_pod(pod, Pod.Status.FAILED, reason)
    pod_log(pod_id=pod.pk, text=reason, level="error")
    events.record(tournament.pk, "pod_failed", f"Pod {pod.agent.name} failed: {reason}", agent=pod.agent, pod=pod)


def end_if_done(tournament: Tournament) -> None:
    """End a running tournament whose first stop rule is met, or whose pods keep failing for one reason."""
    if tournament.status != Tournament.Status.RUNNING:
        return
    spec = tournament.parsed_spec
    reason = stop_reason(spec.stop, standing(tournament))
    if reason:
        end(tournament, Tournament.Status.FINISHED, reason, "finished")
        return
    failure = _repeated_failure(tournament, spec.max_failures)
    if failure:
        text = f"{spec.max_failures} pods in a row failed for the same reason: {failure}"
        end(tournament, Tournament.Status.FAILED, text, "failed")


def end(tournament: Tournament, status: str, reason: str, kind: str) -> None:
    """End a locked tournament. Queued pods are STOPPED now, running ones as soon as they hear of it."""
    tournament.seconds_before = running_seconds(tournament)
    tournament.running_since = None
    tournament.status, tournament.reason = status, reason
    tournament.finished_at = clock.database_now()
    tournament.save()
    for pod in tournament.pods.filter(status=Pod.Status.QUEUED).select_for_update(of=("self",)).select_related("agent"):
        stop_queued(tournament, pod, reason)
    events.record(tournament.pk, kind, reason)
    events.publish(tournament.pk, "status")


def standing(tournament: Tournament) -> Standing:
    """What the stop rules look at."""
    totals = tournament.pods.aggregate(
        pods=Count("pk", filter=Q(status=Pod.Status.FINISHED)), env_steps=Sum("env_steps", default=0)
    )
    best = tournament.agents.filter(score__isnull=False).order_by("-score", "index").first()
    since = tournament.agents.filter(scored_at__gt=best.scored_at).count() if best and best.scored_at else 0
    confirmed = [
        row["score"]
        for row in tournament.agents.filter(confirmation__isnull=False).values_list("confirmation", flat=True)
        if row and row["score"] is not None
    ]
    return Standing(
        pods=totals["pods"],
        env_steps=totals["env_steps"],
        seconds=running_seconds(tournament),
        since_best=since,
        confirmed_score=max(confirmed, default=None),
    )


def running_seconds(tournament: Tournament) -> float:
    """Time the tournament has run, pauses left out."""
    if tournament.running_since is None:
        return tournament.seconds_before
    return tournament.seconds_before + (clock.database_now() - tournament.running_since).total_seconds()


def _repeated_failure(tournament: Tournament, times: int) -> str | None:
    """The reason that the last `times` ended pods all failed for; numbers in it may differ."""
    ended = tournament.pods.filter(status__in=(Pod.Status.FINISHED, Pod.Status.FAILED))
    latest = list(ended.order_by("-finished_at", "-pk").values_list("status", "reason")[:times])
    if len(latest) < times or any(status != Pod.Status.FAILED for status, _ in latest):
        return None
    kinds = {re.sub(r"-?\d[\d.,e+-]*", "#", reason) for _, reason in latest}
    return str(latest[0][1]) if len(kinds) == 1 else None


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
                end_if_done(tournament)
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
            _retry_or_fail(tournament, pod, f"Nothing was heard of it for {LEASE.seconds} seconds.")
            end_if_done(tournament)
            _fill(tournament)
        else:
            _requeue(tournament, pod)
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
