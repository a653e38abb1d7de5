"""Reads of tournaments, their leaderboard, pods and events, as the API, the sockets and the pages show them.

Plain JSON, ids as strings, no NaN. Other subjects have selectors of their own, beside this or in their packages.

The number of queries does not depend on the number of rows.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Case, Count, F, FloatField, Func, IntegerField, Q, QuerySet, Sum, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Least

from podracer_core.spec import StopSpec
from podracer_core.tournament.stopping import Standing, budget_progress, target_progress
from webapp.tournaments import clock
from webapp.tournaments.artefacts import ensemble_selectors
from webapp.tournaments.clock import iso
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.listing import Wanted, selected
from webapp.tournaments.models import Agent, Event, LeaderboardEntry, Pod, Tournament

Item = dict[str, Any]
Page = dict[str, Any]

SPARKLINE_POINTS = 60
ALL = Wanted()


def _counted(tournament_id: int, name: str) -> int:
    """What the tournament's row counts, however many there are; 0 where there is none."""
    return Tournament.objects.filter(pk=tournament_id).values_list(name, flat=True).first() or 0


# Tournaments

# Of tournaments, entries and pods what their items tell, as plain rows: a model of each would cost several times as
# much, and the returns and hyperparameters of an agent make its row many times as long.
_OF_TOURNAMENT = (
    *("id", "name", "env_id", "status", "reason", "spec", "shared", "archived", "pool_size", "priority", "revision"),
    *("created_at", "started_at", "running_since", "finished_at", "seconds_before", "env_steps_spent", "best_history"),
    *("pods_finished", "pods_failed", "pods_stopped", "pods_retried", "reevaluations", "reevaluations_changed"),
    *("owner__username", "project__name"),
)
_OF_BEST = ("tournament_id", "agent_id", "agent__name", "agent__score", "agent__score_low", "agent__score_high")


def tournament_list(
    *, visible: Q, archived: bool | None = None, wanted: Wanted = ALL, limit: int = 50, offset: int = 0
) -> Page:
    """Of those that `visible` is true of (see access.py) what is wanted. archived: None for all"""
    tournaments = Tournament.objects.filter(visible)
    if archived is not None:
        tournaments = tournaments.filter(archived=archived)
    found = selected(tournaments, wanted)
    return {"items": _tournaments(found[offset : offset + limit]), "count": found.count()}


def archived_exist(visible: Q) -> bool:
    """Whether any that `visible` is true of is archived."""
    return Tournament.objects.filter(visible, archived=True).exists()


def tournament_get(tournament_id: int) -> Item:
    """One tournament. Raises Tournament.DoesNotExist."""
    found = _tournaments(Tournament.objects.filter(pk=tournament_id))
    if not found:
        raise Tournament.DoesNotExist(f"There is no tournament {tournament_id}.")
    return found[0]


def source_of(tournament_id: int, visible: Q) -> Tournament | None:
    """The tournament that this one runs again, if it is known, still there, and `visible` is true of it."""
    first = Event.objects.filter(tournament_id=tournament_id).order_by("pk").only("kind", "data").first()
    if first is None or first.kind != "created" or "source" not in first.data:
        return None
    return Tournament.objects.filter(visible, pk=first.data["source"]).only("name").first()


def revision_get(tournament_id: int) -> int | None:
    """How often the tournament has changed, None when there is no such tournament."""
    return Tournament.objects.filter(pk=tournament_id).values_list("revision", flat=True).first()


def _tournaments(tournaments: QuerySet[Tournament]) -> list[Item]:
    """`tournaments` with their pods summed up and their best agent, in two queries more for all.

    What pods that have ended add up to stands in the row, so that only those that have not are looked at.
    """
    rows = list(tournaments.values_list(*_OF_TOURNAMENT, named=True))
    ids = [row.id for row in rows]
    sums = {total["tournament_id"]: total for total in _active_totals(ids)}
    first = LeaderboardEntry.objects.filter(tournament__in=ids, rank=1).values_list(*_OF_BEST, named=True)
    best = {entry.tournament_id: entry for entry in first}
    now = clock.database_now()
    return [_tournament(row, sums.get(row.id, {}), best.get(row.id), now) for row in rows]


# Its last step is not a pod's end: it is evaluated then. A rollout may also end beyond its round.
_NEARLY = 0.999
_OF_STEPS = Least(_NEARLY, Cast("env_steps", FloatField()) / Cast("env_steps_budget", FloatField()))
_BUDGET_SECONDS = Cast(KeyTextTransform("seconds", KeyTransform("round", "tournament__spec")), FloatField())
_OF_SECONDS = Least(_NEARLY, F("seconds") / _BUDGET_SECONDS)
_OF_ROUND = Case(When(env_steps_budget__isnull=False, then=_OF_STEPS), default=_OF_SECONDS)


def _active_totals(ids: list[int]) -> Iterable[Any]:
    counts = {str(status): Count("pk", filter=Q(status=status)) for status in Pod.ACTIVE}
    return (
        Pod.objects.filter(tournament__in=ids, status__in=Pod.ACTIVE)
        .values("tournament_id")
        .annotate(
            **counts,
            total_env_steps=Sum("env_steps"),
            rounds=Sum(_OF_ROUND),
            trained_seconds=Sum("seconds"),
            rate=Sum("env_steps_per_second", filter=Q(status=Pod.Status.RUNNING)),
        )
    )


def _pod_counts(row: Any, sums: Item) -> dict[str, int]:
    """Its pods by state. sums: of those that have not ended"""
    active = {str(status): sums.get(status, 0) for status in Pod.ACTIVE}
    return active | {"FINISHED": row.pods_finished, "FAILED": row.pods_failed, "STOPPED": row.pods_stopped}


def _tournament(row: Any, sums: Item, best: Any, now: datetime) -> Item:
    seconds = row.seconds_before + ((now - row.running_since).total_seconds() if row.running_since else 0)
    pods = _pod_counts(row, sums)
    env_steps, rate = row.env_steps_spent + (sums.get("total_env_steps") or 0), sums.get("rate") or 0.0
    standing = Standing(pods[Pod.Status.FINISHED], env_steps, seconds, 0, None)
    under_way = float(sums.get("rounds") or 0.0)
    return {
        "id": str(row.id),
        "name": row.name,
        "env_id": row.env_id,
        "status": row.status,
        "reason": row.reason,
        "algorithms": [part["name"] for part in row.spec["algorithms"]],
        "owner": row.owner__username,
        "project": row.project__name,
        "shared": row.shared,
        "archived": row.archived,
        "pool_size": row.pool_size,
        "priority": row.priority,
        "revision": row.revision,
        "env_steps": env_steps,
        "env_steps_per_second": rate,
        "seconds": seconds,
        "seconds_left": _seconds_left(row, standing, under_way, sums),
        "progress": _progress(row, standing, under_way),
        "pods": pods,
        "retried": row.pods_retried,
        "reevaluations": row.reevaluations,
        "reevaluations_changed": row.reevaluations_changed,
        "best_score": best.agent__score if best else None,
        "best_score_low": best.agent__score_low if best else None,
        "best_score_high": best.agent__score_high if best else None,
        "best_agent": str(best.agent_id) if best else None,
        "best_agent_name": best.agent__name if best else None,
        "target_score": row.spec["stop"].get("score"),
        "sparkline": row.best_history[-SPARKLINE_POINTS:],
        "created_at": iso(row.created_at),
        "started_at": iso(row.started_at),
        "finished_at": iso(row.finished_at),
        "spec": row.spec,
    }


def _stop(row: Any) -> StopSpec:
    """As it was stored: a specification that a later version would refuse can still be looked at."""
    return StopSpec.model_construct(**row.spec["stop"])


def _progress(row: Any, standing: Standing, under_way: float) -> float | None:
    """How far the nearest end is, 0 to 1: the target score or a budget."""
    if row.status == Tournament.Status.FINISHED:
        return 1.0
    stop = _stop(row)
    shares = (budget_progress(stop, standing, under_way), target_progress(stop.score, row.best_history))
    return max((share for share in shares if share is not None), default=None)


def _seconds_left(row: Any, standing: Standing, under_way: float, sums: Item) -> float | None:
    """Until the first budget is used up at the present pace; None where that cannot be told."""
    if row.status != Tournament.Status.RUNNING:
        return None
    stop, estimates, rate = _stop(row), [], sums.get("rate") or 0.0
    if stop.hours is not None:
        estimates.append(stop.hours * 3600 - standing.seconds)
    if stop.env_steps is not None and rate > 0:
        estimates.append((stop.env_steps - standing.env_steps) / rate)
    if stop.pods is not None and (each := _pod_seconds(standing, under_way, sums)):
        estimates.append((stop.pods - standing.pods - under_way) * each)
    return max(0.0, min(estimates)) if estimates else None


def _pod_seconds(standing: Standing, under_way: float, sums: Item) -> float | None:
    """Of its time for each pod, as so far: of all that comes with one, or before the first has finished of training."""
    if standing.pods:
        return standing.seconds / (standing.pods + under_way)
    running = sums.get(Pod.Status.RUNNING)
    return sums["trained_seconds"] / under_way / running if running and under_way else None


# Leaderboard, pods, events

_OF_ENTRY = (
    *("agent_id", "rank", "rank_change", "beats_next", "agent__name", "agent__color", "agent__kind"),
    *("agent__algorithm", "agent__score", "agent__score_low", "agent__score_high", "agent__strategy"),
    *("agent__changes", "agent__env_steps", "agent__base_env_steps", "episodes"),
)
_OF_POD = (
    *("id", "agent_id", "status", "attempt", "losses", "worker", "slot", "device_kind", "env_steps"),
    *("env_steps_budget", "env_steps_per_second", "episodic_return", "reason", "seconds"),
    *("stepping_since", "queued_at", "started_at", "finished_at", "tournament__started_at"),
    *("agent__name", "agent__strategy", "agent__algorithm", "agent__depth", "agent__score", "agent__base_env_steps"),
)


_PARENTS = """
    SELECT link.from_agent_id, parent.id, parent.name
    FROM tournaments_agent_parents link JOIN tournaments_agent parent ON parent.id = link.to_agent_id
    WHERE link.from_agent_id = ANY(%s) ORDER BY link.id
"""
"""Of a thousand agents Django would look at each id before it asks."""
_OF_EVENT = ("id", "at", "kind", "text", "data", "agent_id", "agent__name", "pod_id")


def leaderboard_list(tournament_id: int, *, limit: int = 1000, offset: int = 0) -> Page:
    """The leaderboard, best first, with ensembles among the agents, and what of these is not made yet."""
    entries = LeaderboardEntry.objects.filter(tournament_id=tournament_id)
    told = (
        entries.annotate(episodes=Func("agent__returns", function="jsonb_array_length", output_field=IntegerField()))
        .order_by("rank")
        .values_list(*_OF_ENTRY, named=True)
    )
    ensembles = ensemble_selectors.ensembles_of(tournament_id)
    made = ensemble_selectors.made(ensembles)
    # Before what is asked for, at most all ensembles are listed beside the agents.
    first = max(0, offset - made)
    rows = list(told[first : offset + limit + 1])
    parents = _parents([row.agent_id for row in rows])
    items = [_entry(row, parents.get(row.agent_id, [])) for row in rows]
    listed = ensemble_selectors.on_the_board(items, ensembles)
    return {
        "items": listed[offset - first : offset - first + limit],
        "count": entries.count() + made,
        "making": ensemble_selectors.unfinished(ensembles),
    }


def _parents(agent_ids: list[int]) -> dict[int, list[tuple[int, str]]]:
    """Id and name of the parents of each agent that has any."""
    found: dict[int, list[tuple[int, str]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_PARENTS, [agent_ids])
        for child, parent, name in cursor.fetchall():
            found.setdefault(child, []).append((parent, name))
    return found


def _entry(row: Any, parents: list[tuple[int, str]]) -> Item:
    return {
        "rank": row.rank,
        "rank_change": row.rank_change,
        "agent": str(row.agent_id),
        "name": row.agent__name,
        "color": row.agent__color or 0,
        "kind": row.agent__kind,
        "algorithm": row.agent__algorithm,
        "score": row.agent__score,
        "score_low": row.agent__score_low,
        "score_high": row.agent__score_high,
        "episodes": row.episodes,
        "beats_next": row.beats_next,
        "parents": [str(parent) for parent, _ in parents],
        "parent_names": [name for _, name in parents],
        "strategy": row.agent__strategy,
        "changes": row.agent__changes,
        "env_steps": row.agent__env_steps,
        "total_env_steps": row.agent__base_env_steps + row.agent__env_steps,
    }


def pod_list(tournament_id: int, *, limit: int = 1000, offset: int = 0) -> Page:
    """The tournament's pods, the newest first."""
    # Each agent has one pod, and agents have an index in this order.
    pods = Pod.objects.filter(agent__tournament_id=tournament_id, agent__kind=Agent.Kind.AGENT)
    rows = pods.order_by("-agent__index").values_list(*_OF_POD, named=True)[offset : offset + limit]
    return {"items": [_pod(row) for row in rows], "count": _counted(tournament_id, "agents_created")}


def pods_get(keys: list[int]) -> list[Item]:
    """Those that there are, in this order."""
    rows = Pod.objects.filter(pk__in=keys).values_list(*_OF_POD, named=True)
    found = {row.id: row for row in rows} if keys else {}
    return [_pod(found[key]) for key in keys if key in found]


def _pod(row: Any) -> Item:
    began = row.tournament__started_at
    return {
        "id": str(row.id),
        "agent": str(row.agent_id),
        "agent_name": row.agent__name,
        "status": row.status,
        "attempt": row.attempt,
        "losses": row.losses,
        "worker": row.worker,
        "slot": row.slot,
        "device": row.device_kind,
        "strategy": row.agent__strategy,
        "algorithm": row.agent__algorithm,
        "env_steps": row.env_steps,
        "round_env_steps": row.env_steps_budget,
        "base_env_steps": row.agent__base_env_steps,
        "depth": row.agent__depth,
        "env_steps_per_second": row.env_steps_per_second,
        "episodic_return": row.episodic_return,
        "score": row.agent__score,
        "start_seconds": (row.started_at - began).total_seconds() if row.started_at and began else None,
        "reason": row.reason,
        "seconds": row.seconds,
        "stepping_since": iso(row.stepping_since),
        "queued_at": iso(row.queued_at),
        "started_at": iso(row.started_at),
        "finished_at": iso(row.finished_at),
    }


def event_list(tournament_id: int, *, limit: int = 100, offset: int = 0) -> Page:
    """What happened, the newest first."""
    newest = event_rows(tournament_id).order_by("-pk")[offset : offset + limit]
    return {"items": list(map(event_item, newest)), "count": _counted(tournament_id, "events_recorded")}


def events_get(keys: list[int]) -> list[Item]:
    """Those that there are, in this order."""
    rows = Event.objects.filter(pk__in=keys).values_list(*_OF_EVENT, named=True)
    found = {row.id: row for row in rows} if keys else {}
    return [event_item(found[key]) for key in keys if key in found]


def event_rows(tournament_id: int) -> QuerySet[Event, Any]:
    """A tournament's, as `event_item` takes them."""
    return Event.objects.filter(tournament_id=tournament_id).values_list(*_OF_EVENT, named=True)


def event_item(row: Any) -> Item:
    return {
        "id": str(row.id),
        "at": iso(row.at),
        "kind": row.kind,
        "text": row.text,
        "data": row.data,
        "agent": str(row.agent_id) if row.agent_id else None,
        "agent_name": row.agent__name,
        "pod": str(row.pod_id) if row.pod_id else None,
    }


# The whole


def snapshot(tournament_id: int) -> Item:
    """All that a tournament's socket begins with, no more of it however long the tournament has run.

    Its curves are those of the leaderboard, of pods that run and of the newest agents. Raises Tournament.DoesNotExist.
    """
    return {**page(tournament_id), "curves": curve_selectors.latest_curves(tournament_id)}


def page(tournament_id: int) -> Item:
    """What the tournament's page is first drawn with; the curves, which may be long, follow. Raises DoesNotExist."""
    return {
        "tournament": tournament_get(tournament_id),
        "leaderboard": leaderboard_list(tournament_id),
        "pods": pod_list(tournament_id),
        "events": event_list(tournament_id),
    }
