"""Django's own pages over what is stored, for looking only: changing it is the services' work."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from webapp.tournaments.models import Agent, Artefact, Event, Pod, Tournament, Worker


class LookOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows can be seen and neither added, changed nor deleted."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Tournament)
class TournamentAdmin(LookOnly):
    list_display = ("name", "env_id", "status", "owner", "created_at")
    list_filter = ("status", "env_id")
    list_select_related = ("owner",)
    search_fields = ("name",)


@admin.register(Agent)
class AgentAdmin(LookOnly):
    list_display = ("name", "kind", "tournament", "algorithm", "strategy", "score")
    list_filter = ("kind",)
    list_select_related = ("tournament",)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        return Agent.every.all()


@admin.register(Pod)
class PodAdmin(LookOnly):
    list_display = ("__str__", "agent", "tournament", "status", "attempt", "worker", "lease_until")
    list_filter = ("status", "device_kind")
    list_select_related = ("agent", "tournament")


@admin.register(Artefact)
class ArtefactAdmin(LookOnly):
    list_display = ("agent", "kind", "name", "status", "worker", "requested_at")
    list_filter = ("kind", "status")
    list_select_related = ("agent",)


@admin.register(Event)
class EventAdmin(LookOnly):
    list_display = ("at", "tournament", "kind", "text")
    list_filter = ("kind",)
    list_select_related = ("tournament",)


@admin.register(Worker)
class WorkerAdmin(LookOnly):
    list_display = ("name", "device_kind", "slots", "drain", "seen_at")
