"""How pods and tournaments end, and what is kept of them.

Called with the tournament's and the pod's rows locked; whoever locked the tournament writes what changed of it.
"""

import time
from dataclasses import dataclass
from typing import Any

from podracer_core.progress import Evaluation, Outcome, PodResult
from podracer_core.tournament import sentences
from podracer_core.tournament.stopping import PATIENCE, Standing, failure_reason, stop_reason
from webapp.tournaments import board, clock, dispatch, event_data, events, halving, lineage, population, rows, storage
from webapp.tournaments.artefacts import ensembles
from webapp.tournaments.models import Agent, CurvePoint, Pod, PodLogLine, Tournament
from webapp.tournaments.notices import notices

MAX_LOSSES = 3
"""A pod that was lost this often is FAILED."""

RESULT = (
    "env_steps",
    "seconds",
    "score",
    "score_low",
    "score_high",
    "mean",
    "iqm",
    "returns",
    "confirmation",
    "screening",
    "scored_at",
    "promotable",
    "color",
    "checkpoint_file",
    "checkpoint_sha256",
    "checkpoint_size",
    "state_file",
    "state_size",
)
"""What a finished pod makes of its agent."""

END = (
    "status",
    "reason",
    "losses",
    "lease_until",
    "env_steps",
    "seconds",
    "env_steps_per_second",
    "episodic_return",
    "stepping_since",
    "state_file",
    "finished_at",
)
"""What an end makes of a pod."""


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """What a pod's end left in storage; names are "" where nothing was written."""

    checkpoint_file: str = ""
    checkpoint_sha256: str = ""
    checkpoint_size: int = 0
    state_file: str = ""
    state_size: int = 0


def pod_end(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    """Take what a pod ended with."""
    pod.env_steps, pod.seconds = result.env_steps, result.seconds
    _END[result.outcome](tournament, pod, result, files)


def log(*, pod_id: int, text: str, level: str = "info") -> None:
    """Add a line to a pod's log."""
    PodLogLine.objects.create(pod_id=pod_id, text=clock.storable(text), level=level)


def _end_finished(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    assert result.evaluation is not None
    agent = pod.agent
    _keep(agent, result, files)
    _score(agent, result.evaluation)
    agent.scored_at = tournament.now
    agent.promotable = agent.score is not None and halving.below_the_top(tournament, agent)
    agent.confirmation, agent.screening = _summary(result.confirmation), _summary(result.screening)
    reason = "The pool was made smaller: its round ended early." if pod.end_requested else ""
    end_pod(tournament, pod, Pod.Status.FINISHED, reason)
    board.consider(tournament, pod, agent)
    rows.update(agent, *RESULT)
    halving.count(tournament, agent)
    if result.confirmation is not None:
        _confirm(tournament, pod, result.confirmation)


def _confirm(tournament: Tournament, pod: Pod, confirmation: Evaluation) -> None:
    scores = [score for score in (tournament.confirmed_score, clock.finite(confirmation.score)) if score is not None]
    tournament.confirmed_score = max(scores, default=None)
    target = tournament.parsed_spec.stop.score
    if target is not None:
        kind, text = sentences.confirmed(pod.agent.name, target, confirmation)
        events.record(tournament.pk, kind, text, agent=pod.agent, pod=pod)


def _end_stopped(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    _keep(pod.agent, result, files)
    pod.agent.save()
    _stop(tournament, pod, tournament.reason)


def _end_paused(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    """Back into the queue from the state that it saved; nothing is charged for a pause."""
    if files.state_file:
        pod.state_file, pod.state_size = files.state_file, files.state_size
        pod.state_env_steps, pod.state_seconds = result.env_steps, result.seconds
    if tournament.status not in Tournament.ENDED:
        text = sentences.moved(pod.agent.name, pod.worker, pod.state_env_steps)
        events.record(tournament.pk, "pod_moved", text, agent=pod.agent, pod=pod, data=event_data.requeued(pod))
    requeue(tournament, pod)


def _end_failed(tournament: Tournament, pod: Pod, result: PodResult, files: StoredFiles) -> None:
    reason = clock.storable(result.reason)
    if result.lost_donor is not None:
        if tournament.status not in Tournament.ENDED:
            donor = lineage.donors(pod.agent, lineage.parents_of(pod.agent))[result.lost_donor]
            population.begin_anew(tournament, pod, donor, reason)
        requeue(tournament, pod)
        return
    if result.retryable:
        retry_or_fail(tournament, pod, reason)
        return
    _keep(pod.agent, result, files)
    pod.agent.save()
    _fail(tournament, pod, reason)


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
        agent.state_file, agent.state_size = files.state_file, files.state_size


def _score(agent: Agent, evaluation: Evaluation) -> None:
    agent.score = clock.finite(evaluation.score)
    agent.score_low = clock.finite(evaluation.score_low)
    agent.score_high = clock.finite(evaluation.score_high)
    agent.mean, agent.iqm = clock.finite(evaluation.mean), clock.finite(evaluation.iqm)
    agent.returns = [clock.finite(value) for value in evaluation.returns]


def _summary(evaluation: Evaluation | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    ends = {name: clock.finite(getattr(evaluation, name)) for name in ("score", "score_low", "score_high")}
    return {**ends, "episodes": evaluation.episodes}


def end_pod(tournament: Tournament, pod: Pod, status: str, reason: str = "") -> None:
    """Every pod that ends comes by here, and is counted."""
    pod.status, pod.reason = status, reason
    pod.lease_until = None
    pod.env_steps_per_second = 0
    pod.finished_at = tournament.now
    pod.state_file = ""
    rows.update(pod, *END)
    tournament.env_steps_spent += pod.env_steps
    if status == Pod.Status.FINISHED:
        tournament.pods_finished += 1
        tournament.failed_in_a_row = 0
    elif status == Pod.Status.FAILED:
        tournament.pods_failed += 1
        tournament.failed_in_a_row += 1
    else:
        tournament.pods_stopped += 1
    events.publish(tournament.pk, "pod", pod.pk)


def requeue(tournament: Tournament, pod: Pod) -> None:
    if tournament.status in Tournament.ENDED:
        stop_queued(tournament, pod, tournament.reason)
        return
    pod.status, pod.lease_until, pod.env_steps_per_second = Pod.Status.QUEUED, None, 0
    pod.env_steps, pod.seconds = pod.state_env_steps, pod.state_seconds
    pod.worker, pod.slot = "", None
    pod.save()
    # What was trained beyond the state is trained again.
    CurvePoint.objects.filter(agent_id=pod.agent_id, env_steps__gt=pod.state_env_steps).delete()
    events.publish(tournament.pk, "curve", pod.agent_id, _cut(pod))
    events.publish(tournament.pk, "pod", pod.pk)
    if tournament.status == Tournament.Status.RUNNING:
        dispatch.ring(pod.device_kind)


def _cut(pod: Pod) -> dict[str, Any]:
    """A curve message without points, of which viewers keep those up to the saved state only."""
    labels = {"agent": str(pod.agent_id), "pod": str(pod.pk), "attempt": pod.attempt, "sent_at": time.time()}
    columns: dict[str, list[Any]] = {"env_steps": [], "seconds": [], "episodic_return": []}
    return {**labels, "env_steps_per_second": 0.0, "kept_env_steps": pod.state_env_steps, **columns}


def stop_queued(tournament: Tournament, pod: Pod, reason: str) -> None:
    """End a pod that is not running, keeping what its last saved state has. Both rows are locked."""
    agent = pod.agent
    if pod.state_file:
        agent.state_file, agent.state_size = pod.state_file, pod.state_size
        agent.env_steps, agent.seconds = pod.state_env_steps, pod.state_seconds
        agent.save(update_fields=["state_file", "state_size", "env_steps", "seconds"])
    pod.env_steps, pod.seconds = pod.state_env_steps, pod.state_seconds
    _stop(tournament, pod, reason)


def _stop(tournament: Tournament, pod: Pod, reason: str) -> None:
    end_pod(tournament, pod, Pod.Status.STOPPED, reason)
    text = sentences.stopped(pod.agent.name, pod.env_steps, reason)
    data = event_data.ended(pod, pod.agent)
    events.record(tournament.pk, "pod_stopped", text, agent=pod.agent, pod=pod, data=data)


def retry_or_fail(tournament: Tournament, pod: Pod, reason: str) -> None:
    pod.losses += 1
    tournament.pods_retried += pod.losses == 1
    if pod.losses >= MAX_LOSSES:
        _fail(tournament, pod, f"Given up after {pod.losses} attempts: {reason}")
        return
    text = sentences.retried(pod.agent.name, pod.worker, pod.state_env_steps)
    log(pod_id=pod.pk, text=f"{reason} {text}", level="warning")
    lost(tournament, pod)


def lost(tournament: Tournament, pod: Pod) -> None:
    """An attempt ended without a result; another goes on from what it last saved, unless the tournament has ended."""
    if tournament.status not in Tournament.ENDED:
        text = sentences.retried(pod.agent.name, pod.worker, pod.state_env_steps)
        events.record(tournament.pk, "pod_retried", text, agent=pod.agent, pod=pod, data=event_data.requeued(pod))
    requeue(tournament, pod)


def _fail(tournament: Tournament, pod: Pod, reason: str) -> None:
    if pod.state_file != pod.agent.state_file:  # nobody goes on from it any more
        storage.delete_on_commit(pod.state_file)
    end_pod(tournament, pod, Pod.Status.FAILED, reason)
    log(pod_id=pod.pk, text=reason, level="error")
    text, data = f"Pod {pod.agent.name} failed: {reason}", event_data.ended(pod, pod.agent)
    events.record(tournament.pk, "pod_failed", text, agent=pod.agent, pod=pod, data=data)
    # What ends it is told as its end.
    if _failure_reason(tournament) is None:
        notices.record_failures(tournament, reason)


def end_if_done(tournament: Tournament) -> None:
    """End a running tournament whose first stop rule is met, or whose pods keep failing."""
    if tournament.status != Tournament.Status.RUNNING:
        return
    spec = tournament.parsed_spec
    reason = stop_reason(spec.stop, standing(tournament))
    if reason:
        end(tournament, Tournament.Status.FINISHED, reason, "finished")
        return
    failure = _failure_reason(tournament)
    if failure:
        end(tournament, Tournament.Status.FAILED, failure, "failed")


def end(tournament: Tournament, status: str, reason: str, kind: str) -> None:
    """End a locked tournament. Queued pods are STOPPED now, running ones as soon as they hear of it."""
    tournament.seconds_before = running_seconds(tournament)
    tournament.running_since = None
    tournament.status, tournament.reason = status, reason
    tournament.finished_at = tournament.now
    for pod in tournament.pods.filter(status=Pod.Status.QUEUED).select_for_update(of=("self",)).select_related("agent"):
        stop_queued(tournament, pod, reason)
    events.record(tournament.pk, kind, reason)
    notices.record_end(tournament)
    if status == Tournament.Status.FINISHED:
        ensembles.ensemble_at_end(tournament)
    events.publish(tournament.pk, "status")


def standing(tournament: Tournament) -> Standing:
    """What the stop rules look at."""
    return Standing(
        pods=tournament.pods_finished,
        env_steps=tournament.env_steps_spent,
        seconds=running_seconds(tournament),
        since_best=tournament.since_best,
        confirmed_score=tournament.confirmed_score,
        promised=_promised(tournament),
    )


def _promised(tournament: Tournament) -> int:
    """Pods that a budget of env steps was shared out to, which keep their part and are scored before it ends the
    tournament. Nobody asks before it is used up."""
    budget = tournament.parsed_spec.stop.env_steps
    if budget is None or tournament.env_steps_spent < budget:
        return 0
    return tournament.pods.filter(status__in=Pod.ACTIVE).count()


def running_seconds(tournament: Tournament) -> float:
    """Time the locked tournament has run, pauses left out."""
    if tournament.running_since is None:
        return tournament.seconds_before
    return tournament.seconds_before + (tournament.now - tournament.running_since).total_seconds()


def _failure_reason(tournament: Tournament) -> str | None:
    """As `stopping.failure_reason`, of the tournament's pods."""
    times = tournament.parsed_spec.max_failures
    if tournament.failed_in_a_row < times:
        return None
    count = min(tournament.failed_in_a_row, PATIENCE * times)
    failed = tournament.pods.filter(status=Pod.Status.FAILED).order_by("-finished_at", "-pk")
    return failure_reason(list(failed.values_list("reason", flat=True)[:count])[::-1], times)
