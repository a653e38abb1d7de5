"""What the form of a new tournament reads: what was reached and measured here before."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Max

from webapp.tournaments.models import LeaderboardEntry, Pod, Tournament
from webapp.tournaments.workers import selectors as worker_selectors

TOURNAMENTS_MEASURED = 20
PODS_MEASURED = 200


@dataclass(frozen=True)
class Pace:
    """How fast earlier pods were.

    env_steps_per_second: while they trained; overhead: seconds of their slot in which they did not, as to evaluate
    """

    pods: int
    env_steps_per_second: float
    overhead: float


@dataclass(frozen=True)
class Room:
    """slots: that a pod may run on; others: tournaments that run, and share them"""

    slots: int
    others: int


def best_scores() -> dict[str, float]:
    """The best score on any leaderboard, by environment."""
    rows = LeaderboardEntry.objects.filter(rank=1, agent__score__isnull=False)
    found = rows.values_list("tournament__env_id").annotate(best=Max("agent__score")).order_by()
    return dict(found)


def environments_used() -> list[str]:
    """The ids of all tournaments' environments, in alphabetical order."""
    return list(Tournament.objects.order_by("env_id").values_list("env_id", flat=True).distinct())


def paces(env_id: str, device: str) -> dict[str, Pace]:
    """By algorithm: what the latest pods in `env_id` show that needed one attempt; of one device kind unless "auto"."""
    latest = Tournament.objects.filter(env_id=env_id).order_by("-pk")[:TOURNAMENTS_MEASURED]
    pods = Pod.objects.filter(
        tournament__in=list(latest.values_list("pk", flat=True)),
        status=Pod.Status.FINISHED,
        attempt=1,
        env_steps__gt=0,
        seconds__gt=0,
        claimed_at__isnull=False,
        finished_at__isnull=False,
    )
    if device != "auto":
        pods = pods.filter(device_kind=device)
    columns = "agent__algorithm", "env_steps", "seconds", "claimed_at", "finished_at"
    sums: dict[str, list[float]] = {}
    for algorithm, env_steps, seconds, began, ended in pods.order_by("-pk").values_list(*columns)[:PODS_MEASURED]:
        found = sums.setdefault(algorithm, [0.0, 0.0, 0.0, 0.0])
        measured = 1, env_steps, seconds, max(0.0, (ended - began).total_seconds() - seconds)
        sums[algorithm] = [total + value for total, value in zip(found, measured, strict=True)]
    return {
        algorithm: Pace(int(count), env_steps / seconds, overhead / count)
        for algorithm, (count, env_steps, seconds, overhead) in sums.items()
    }


def room(device: str) -> Room:
    """Where pods for `device` would run: "auto" prefers CUDA slots, as the orchestrator does."""
    online: Mapping[str, int] = worker_selectors.slots_online()
    kind = device if device != "auto" else "cuda" if online["cuda"] else "cpu"
    return Room(online[kind], Tournament.objects.filter(status=Tournament.Status.RUNNING).count())
