"""Which training states can go. They are large, with a replay buffer above all, and most are never inherited."""

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from webapp.tournaments import storage
from webapp.tournaments.models import Agent, Pod, Tournament


def states_release(tournament: Tournament) -> int:
    """Remove the training states that nobody can refer to any more. Returns how many.

    Checkpoints stay, and so do the records. Called with the tournament's row locked, which is what pods are made
    under: none that names a state can appear before this commits, and files go after.
    """
    released = list(_unneeded(tournament).values_list("pk", "state_file"))
    Agent.objects.filter(pk__in=[pk for pk, _ in released]).update(state_file="")
    for _, name in released:
        storage.delete_on_commit(name)
    return len(released)


def _unneeded(tournament: Tournament) -> QuerySet[Agent]:
    """Scored, off the leaderboard, in use by no pod, and of no interest to the tournament's mode."""
    heirs = Agent.objects.filter(parents=OuterRef("pk"))
    agents = tournament.agents.exclude(state_file="").filter(scored_at__isnull=False, entry__isnull=True)
    agents = agents.filter(~Exists(heirs.filter(pod__status__in=Pod.ACTIVE)))
    generator = tournament.parsed_spec.generator
    if generator.mode == "generational":
        latest = tournament.agents.aggregate(stage=Max("stage"))["stage"]
        return agents.exclude(stage=latest)
    if generator.mode == "successive_halving":
        return agents.filter(Q(stage__gte=generator.rungs - 1) | Exists(heirs))
    return agents
