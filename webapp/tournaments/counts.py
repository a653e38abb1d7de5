"""What a tournament's row counts, counted from the pods and agents themselves."""

from typing import Any

from django.db.models import Count, Max, Q, Sum

from webapp.tournaments.models import Pod, Tournament


def counted(tournament: Tournament) -> dict[str, Any]:
    """Its counts by name, from all that happened; as pods end they are kept up one by one, see `endings.end_pod`."""
    pods, agents = tournament.pods, tournament.agents
    totals = pods.aggregate(
        finished=Count("pk", filter=Q(status=Pod.Status.FINISHED)),
        latest=Max("finished_at", filter=Q(status=Pod.Status.FINISHED)),
        spent=Sum("env_steps", filter=~Q(status__in=Pod.ACTIVE), default=0),
    )
    failed = pods.filter(status=Pod.Status.FAILED)
    best = agents.filter(score__isnull=False).order_by("-score", "index").first()
    confirmed = [row["score"] for row in agents.values_list("confirmation", flat=True) if row]
    return {
        "pods_finished": totals["finished"],
        "env_steps_spent": totals["spent"],
        "since_best": agents.filter(scored_at__gt=best.scored_at).count() if best and best.scored_at else 0,
        "confirmed_score": max((score for score in confirmed if score is not None), default=None),
        "failed_in_a_row": (failed.filter(finished_at__gt=totals["latest"]) if totals["latest"] else failed).count(),
    }
