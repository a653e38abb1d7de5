"""What a tournament's row counts, counted from the pods and agents themselves."""

from typing import Any

from django.db.models import Count, Max, Q, Sum

from webapp.tournaments.models import Pod, Rung, Tournament


def counted(tournament: Tournament) -> dict[str, Any]:
    """Its counts by name, from all that happened; as pods end they are kept up one by one, see `endings.end_pod`."""
    pods, agents = tournament.pods, tournament.agents
    totals = pods.aggregate(
        finished=Count("pk", filter=Q(status=Pod.Status.FINISHED)),
        failed=Count("pk", filter=Q(status=Pod.Status.FAILED)),
        stopped=Count("pk", filter=Q(status=Pod.Status.STOPPED)),
        retried=Count("pk", filter=Q(losses__gt=0)),
        latest=Max("finished_at", filter=Q(status=Pod.Status.FINISHED)),
        spent=Sum("env_steps", filter=~Q(status__in=Pod.ACTIVE), default=0),
    )
    failed = pods.filter(status=Pod.Status.FAILED)
    best = agents.filter(score__isnull=False).order_by("-score", "index").first()
    confirmed = [row["score"] for row in agents.values_list("confirmation", flat=True) if row]
    return {
        "pods_finished": totals["finished"],
        "pods_failed": totals["failed"],
        "pods_stopped": totals["stopped"],
        "pods_retried": totals["retried"],
        "events_recorded": tournament.events.count(),
        "env_steps_spent": totals["spent"],
        "since_best": agents.filter(scored_at__gt=best.scored_at).count() if best and best.scored_at else 0,
        "confirmed_score": max((score for score in confirmed if score is not None), default=None),
        "failed_in_a_row": (failed.filter(finished_at__gt=totals["latest"]) if totals["latest"] else failed).count(),
    }


def rungs_counted(tournament: Tournament) -> list[Rung]:
    """Its rungs, see halving.py, none of them stored."""
    spec = tournament.parsed_spec.generator
    if spec.mode != "successive_halving":
        return []
    return [rung for level in range(spec.rungs - 1) if (rung := _rung(tournament, level, spec.reduction_factor)).scored]


def _rung(tournament: Tournament, level: int, factor: int) -> Rung:
    scored = tournament.agents.filter(stage=level, score__isnull=False).order_by("-score", "index")
    places = list(scored.values_list("score", "index"))
    best = len(places) // factor
    score, index = places[best - 1] if best else (None, None)
    return Rung(tournament=tournament, level=level, scored=len(places), cut_score=score, cut_index=index)
