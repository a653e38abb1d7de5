"""Which tournaments a list is asked for, and in which order: conditions for the database, so that it reads one page."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal, Self, get_args
from urllib.parse import urlencode

from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from webapp.tournaments import clock
from webapp.tournaments.models import LeaderboardEntry, Pod, Tournament

Sort = Literal["newest", "score", "env_steps"]
StatusName = Literal["DRAFT", "RUNNING", "PAUSED", "FINISHED", "STOPPED", "FAILED"]

MAX_SEARCH = 200
SORTS: dict[Sort, str] = {"newest": "Newest first", "score": "Best score first", "env_steps": "Most env steps first"}


@dataclass(frozen=True)
class Wanted:
    """search: a part of the name; what is empty leaves nothing out"""

    search: str = ""
    status: str = ""
    env_id: str = ""
    sort: Sort = "newest"

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """As a page's address asks for it; what it cannot mean is left out."""
        status, sort = query.get("status", ""), query.get("sort", "")
        return cls(
            search=query.get("search", "").strip()[:MAX_SEARCH],
            status=status if status in get_args(StatusName) else "",
            env_id=query.get("env_id", "")[:MAX_SEARCH],
            sort=next((known for known in SORTS if known == sort), "newest"),
        )

    @property
    def leaves_out(self) -> bool:
        return bool(self.search or self.status or self.env_id)

    @property
    def query(self) -> str:
        """What of an address asks for this."""
        return urlencode({name: value for name, value in asdict(self).items() if value and value != "newest"})


def selected(tournaments: QuerySet[Tournament], wanted: Wanted) -> QuerySet[Tournament]:
    """Those that are wanted, in the order that is."""
    if wanted.search:
        tournaments = tournaments.filter(name__icontains=clock.storable(wanted.search))
    if wanted.status:
        tournaments = tournaments.filter(status=wanted.status)
    if wanted.env_id:
        tournaments = tournaments.filter(env_id=clock.storable(wanted.env_id))
    return _ordered(tournaments, wanted.sort)


def _ordered(tournaments: QuerySet[Tournament], sort: Sort) -> QuerySet[Tournament]:
    if sort == "score":
        best = LeaderboardEntry.objects.filter(tournament=OuterRef("pk"), rank=1).values("agent__score")[:1]
        tournaments = tournaments.alias(key=Subquery(best))
    elif sort == "env_steps":
        active = Pod.objects.filter(tournament=OuterRef("pk"), status__in=Pod.ACTIVE).order_by().values("tournament")
        training = active.annotate(total=Sum("env_steps")).values("total")
        tournaments = tournaments.alias(key=F("env_steps_spent") + Coalesce(Subquery(training), Value(0)))
    else:
        return tournaments.order_by("-created_at", "-pk")
    return tournaments.order_by(F("key").desc(nulls_last=True), "-created_at", "-pk")


def environments(visible: Q, archived: bool) -> list[str]:
    """Of those that `visible` is true of."""
    found = Tournament.objects.filter(visible, archived=archived).order_by("env_id").values_list("env_id", flat=True)
    return list(found.distinct())
