"""What the slots did while a tournament ran: its pods, other tournaments' pods, pauses, and idleness between them.

A pod's row holds its current or last attempt only, and nobody writes down when a worker came or went. So earlier
attempts leave a gap, and a slot is counted from its first known pod on.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Q

from webapp.tournaments import clock
from webapp.tournaments.insights.insights import Item, columns
from webapp.tournaments.models import Event, Pod, Tournament
from webapp.tournaments.workers import selectors as worker_selectors

SLOTS = ("worker", "slot", "device", "first", "busy", "elsewhere")
BARS = ("row", "agent", "name", "status", "attempt", "score", "rank", "color", "begin", "end")

Interval = tuple[float, float]


class Slot(NamedTuple):
    """A worker's slot."""

    worker: str
    number: int
    device: str


class Window(NamedTuple):
    """From a tournament's start to its end, or to now."""

    began: datetime
    ended: datetime

    def seconds(self, moment: datetime) -> float:
        return (moment - self.began).total_seconds()

    @property
    def length(self) -> float:
        return self.seconds(self.ended)


# Intervals


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same time in intervals that do not touch, in order."""
    found: list[Interval] = []
    for begin, end in sorted(intervals):
        if end <= begin:
            continue
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def clipped(intervals: Iterable[Interval], begin: float, end: float) -> list[Interval]:
    """What of `intervals` lies from `begin` to `end`."""
    return union((max(low, begin), min(high, end)) for low, high in intervals)


def length(intervals: Iterable[Interval]) -> float:
    return sum(end - begin for begin, end in union(intervals))


def length_outside(intervals: Iterable[Interval], holes: Iterable[Interval]) -> float:
    """How much of `intervals` is in none of `holes`."""
    first, second = union(intervals), union(holes)
    return length([*first, *second]) - length(second)


# Reading


def slots_get(tournament_id: int) -> Item:
    """Slots with their pods over the wall clock, in seconds since the start. Raises Tournament.DoesNotExist."""
    tournament = Tournament.objects.get(pk=tournament_id)
    pods = list(
        tournament.pods.select_related("agent", "agent__entry")
        .defer("agent__returns", "agent__schedule")
        .order_by("pk")
    )
    window = _window(tournament, pods)
    shown = [pod for pod in pods if pod.claimed_at and pod.worker and pod.slot is not None]
    rows = sorted({_slot(pod) for pod in shown} | _waiting(tournament, pods))
    bars = [_bar(window, rows, pod) for pod in shown]
    elsewhere, pauses = _elsewhere(tournament_id, window, rows), _pauses(tournament, window)
    busy: dict[int, list[Interval]] = defaultdict(list)
    for bar in bars:
        busy[bar[0]].append(bar[-2:])
    used = [_used(window, busy[row], elsewhere[row], pauses) for row in range(len(rows))]
    return {
        "began": window.began.isoformat() if tournament.started_at else None,
        "seconds": window.length,
        "live": tournament.status == Tournament.Status.RUNNING,
        "slots": columns(SLOTS, [(*slot, *_shares(part)) for slot, part in zip(rows, used, strict=True)]),
        "bars": columns(BARS, bars),
        "elsewhere": columns(("row", "begin", "end"), [(row, *part) for row in elsewhere for part in elsewhere[row]]),
        "pauses": columns(("begin", "end"), pauses),
        "busy": _ratio(sum(part.busy for part in used), sum(part.known for part in used)),
        "idle_seconds": sum(part.known - part.busy - part.elsewhere for part in used),
        "attempts": sum(pod.attempt for pod in pods),
        "attempts_shown": len(bars),
    }


def _window(tournament: Tournament, pods: list[Pod]) -> Window:
    """Pods that still end after their tournament did are part of it."""
    now = clock.database_now()
    began = tournament.started_at or now
    if tournament.status not in Tournament.ENDED or any(pod.status == Pod.Status.RUNNING for pod in pods):
        return Window(began, now)
    ends = [pod.finished_at for pod in pods if pod.finished_at and pod.claimed_at and pod.worker]
    return Window(began, max([tournament.finished_at or began, began, *ends]))


def _slot(pod: Pod) -> Slot:
    return Slot(pod.worker, pod.slot or 0, pod.device_kind)


def _waiting(tournament: Tournament, pods: list[Pod]) -> set[Slot]:
    """Every slot online that could run a pod of the tournament, as long as it runs."""
    if tournament.status != Tournament.Status.RUNNING:
        return set()
    kinds = {pod.device_kind for pod in pods}
    return {
        Slot(worker["name"], index, worker["device_kind"])
        for worker in worker_selectors.slots_online()["workers"]
        if worker["device_kind"] in kinds
        for index in range(worker["slots"])
    }


def _bar(window: Window, rows: list[Slot], pod: Pod) -> tuple[Any, ...]:
    agent, entry = pod.agent, getattr(pod.agent, "entry", None)
    assert pod.claimed_at is not None
    begin = max(0.0, window.seconds(pod.claimed_at))
    end = window.seconds(pod.finished_at) if pod.finished_at else window.length
    return (
        rows.index(_slot(pod)), str(agent.pk), agent.name, pod.status, pod.attempt, agent.score,
        entry.rank if entry else None, agent.color, begin, max(begin, end),
    )  # fmt: skip


def _elsewhere(tournament_id: int, window: Window, rows: list[Slot]) -> dict[int, list[Interval]]:
    """When each row's slot ran pods of other tournaments."""
    places = {(slot.worker, slot.number): row for row, slot in enumerate(rows)}
    pods = (
        Pod.objects.filter(worker__in={slot.worker for slot in rows}, claimed_at__lt=window.ended)
        .filter(Q(finished_at__gt=window.began) | Q(status=Pod.Status.RUNNING))
        .exclude(tournament=tournament_id)
    )
    found: dict[int, list[Interval]] = defaultdict(list)
    for worker, slot, claimed_at, finished_at in pods.values_list("worker", "slot", "claimed_at", "finished_at"):
        if slot is not None and claimed_at is not None and (worker, slot) in places:
            ended = finished_at or window.ended
            found[places[worker, slot]].append((window.seconds(claimed_at), window.seconds(ended)))
    return defaultdict(list, {row: clipped(parts, 0.0, window.length) for row, parts in found.items()})


def _pauses(tournament: Tournament, window: Window) -> list[Interval]:
    """As the events tell them."""
    told = Event.objects.filter(tournament=tournament, kind__in=("paused", "resumed")).order_by("pk")
    found: list[Interval] = []
    since: datetime | None = None
    for kind, at in told.values_list("kind", "at"):
        if kind == "paused":
            since = since or at
        elif since is not None:
            found.append((window.seconds(since), window.seconds(at)))
            since = None
    if since is not None:
        found.append((window.seconds(since), window.length))
    return clipped(found, 0.0, window.length)


class Use(NamedTuple):
    """Seconds of a slot, pauses left out: since its first pod, and of these with the tournament's and others' pods."""

    first: float | None
    known: float
    busy: float
    elsewhere: float


def _used(window: Window, busy: list[Interval], elsewhere: list[Interval], pauses: list[Interval]) -> Use:
    begins = [begin for begin, _ in (*busy, *elsewhere)]
    if not begins:
        return Use(None, 0.0, 0.0, 0.0)
    first = min(begins)
    known = length_outside([(first, window.length)], pauses)
    own = length_outside(busy, pauses)
    return Use(first, known, own, length_outside(elsewhere, [*busy, *pauses]))


def _shares(used: Use) -> tuple[float | None, float | None, float | None]:
    return (used.first, _ratio(used.busy, used.known), _ratio(used.elsewhere, used.known))


def _ratio(part: float, whole: float) -> float | None:
    return min(1.0, part / whole) if whole > timedelta(milliseconds=1).total_seconds() else None
