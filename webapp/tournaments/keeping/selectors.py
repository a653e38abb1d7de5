"""What the files of tournaments take, as the database knows it: no file is looked at.

The pictures that stand for replays, some kilobytes each, are not counted.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import Q, Sum

from webapp.tournaments.keeping.disk import LATELY_SECONDS
from webapp.tournaments.models import Agent, Artefact, Pod, Tournament

CHECKPOINTS, STATES, EXPORTS, REPLAYS = KINDS = ("checkpoints", "states", "exports", "replays")

LISTED = 100
"""Tournaments that are told one by one."""

Item = dict[str, Any]


def usage(visible: Q) -> Item:
    """Of the tournaments that `visible` is true of: those that take most, each with its bytes by kind, and all."""
    sizes: dict[int, Counter[str]] = defaultdict(Counter)
    for tournament_id, kind, size in _sums(visible):
        sizes[tournament_id][kind] += size
    ordered = sorted(sizes, key=lambda tournament_id: (-sizes[tournament_id].total(), tournament_id))
    found = Tournament.objects.filter(pk__in=ordered[:LISTED]).select_related("owner").in_bulk()
    items = [_item(found[pk], sizes[pk]) for pk in ordered[:LISTED] if pk in found]
    totals: Counter[str] = sum(sizes.values(), Counter())
    return {
        "items": items,
        "count": len(ordered),
        "most": max((item["size"] for item in items), default=0),
        "others": {"count": len(ordered) - len(items), "size": totals.total() - sum(item["size"] for item in items)},
        "totals": {kind: totals[kind] for kind in KINDS},
        "size": totals.total(),
    }


def _item(row: Tournament, sizes: Counter[str]) -> Item:
    return {
        "id": str(row.pk),
        "name": row.name,
        "status": row.status,
        "owner": row.owner.get_username(),
        "sizes": {kind: sizes[kind] for kind in KINDS},
        "size": sizes.total(),
    }


def _sums(visible: Q) -> Iterator[tuple[int, str, int]]:
    """(tournament, kind, bytes), those that take none left out; in three queries."""
    seen = Tournament.objects.filter(visible).values("pk")
    agents = Agent.every.filter(tournament__in=seen).values("tournament_id").order_by()
    checkpoints = Sum("checkpoint_size", filter=~Q(checkpoint_file=""))
    states = Sum("state_size", filter=~Q(state_file=""))
    for pk, *sums in agents.annotate(checkpoints=checkpoints, states=states).values_list(
        "tournament_id", CHECKPOINTS, STATES
    ):
        yield from ((pk, kind, size) for kind, size in zip((CHECKPOINTS, STATES), sums, strict=True) if size)
    saved = Pod.objects.filter(tournament__in=seen).exclude(state_file="").values("tournament_id").order_by()
    for pk, size in saved.annotate(states=Sum("state_size")).values_list("tournament_id", "states"):
        yield pk, STATES, size
    # The file of an ensemble is its checkpoint.
    made = Artefact.objects.filter(agent__tournament__in=seen, status=Artefact.Status.FINISHED)
    kinds = {Artefact.Kind.EXPORT: EXPORTS, Artefact.Kind.REPLAY: REPLAYS}
    asked = made.filter(kind__in=kinds).values("agent__tournament_id", "kind").order_by()
    for pk, kind, size in asked.annotate(total=Sum("size")).values_list("agent__tournament_id", "kind", "total"):
        yield pk, kinds[Artefact.Kind(kind)], size


def totals_lately() -> Item:
    """Bytes by kind of all tournaments, as they were within the last minute."""
    return _totals(int(time.monotonic() // LATELY_SECONDS))


@lru_cache(maxsize=1)
def _totals(minute: int) -> Item:
    totals = Counter(dict.fromkeys(KINDS, 0))
    for _, kind, size in _sums(Q()):
        totals[kind] += size
    return dict(totals)


def database_size() -> int:
    """Bytes of the database: curves above all, then pods' logs, agents and events."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        row = cursor.fetchone()
    return int(row[0])
