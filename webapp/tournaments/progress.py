"""Points of running pods' curves: what is stored of them, and how their viewers are told."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from podracer_core.progress import Progress
from webapp.tournaments import claims, clock, events
from webapp.tournaments.claims import Report
from webapp.tournaments.models import Pod


def sane(report: Report) -> Report:
    """In order, and without NaN and infinities, as a diverging agent reports them: JSON columns refuse them."""
    return replace(report, points=sorted(map(_finite, report.points), key=lambda point: point.env_steps))


def _finite(point: Progress) -> Progress:
    return replace(
        point,
        env_steps_per_second=clock.finite(point.env_steps_per_second) or 0.0,
        episodic_return=clock.finite(point.episodic_return),
        losses={name: value for name, value in point.losses.items() if clock.finite(value) is not None},
    )


def tell(tournament_id: int, revision: int, told: Sequence[tuple[int, Report]]) -> None:
    """Send as one message, of this revision, what pods have reported; each with its agent."""
    message = events.Message(tournament_id, revision, [])
    for agent_id, report in told:
        message.changes.append(events.change("curve", agent_id, curve_message(agent_id, report)))
    transaction.on_commit(message)


def last_words(pod: Pod, points: Sequence[Progress]) -> None:
    """Store the points that come with a pod's result, and have the pod, which is saved afterwards, say the last."""
    if not points:
        return
    report = sane(Report(pod.pk, pod.attempt, points))
    claims.store_points(pod.agent_id, report)
    first, latest = report.points[0], report.points[-1]
    pod.episodic_return = latest.episodic_return
    if pod.stepping_since is None:
        pod.stepping_since = datetime.fromtimestamp(claims.began(first) + pod.state_seconds, UTC)
    events.publish(pod.tournament_id, "curve", pod.agent_id, curve_message(pod.agent_id, report))


def curve_message(agent_id: int, report: Report) -> dict[str, Any]:
    """New points as columns, with the time at which the newest left its pod; seconds as exact as in a snapshot."""
    points = report.points
    names = sorted({name for point in points for name in point.losses})
    return {
        "agent": str(agent_id),
        "pod": str(report.pod_id),
        "attempt": report.attempt,
        "sent_at": points[-1].sent_at,
        "env_steps_per_second": points[-1].env_steps_per_second,
        "env_steps": [point.env_steps for point in points],
        "seconds": [round(point.seconds, 3) for point in points],
        "episodic_return": [point.episodic_return for point in points],
        **{name: [point.losses.get(name) for point in points] for name in names},
    }
