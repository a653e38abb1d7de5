"""Addresses of the pages."""

from django.urls import URLPattern, path

from webapp.tournaments import views
from webapp.tournaments.artefacts import views as artefact_views
from webapp.tournaments.comparing import views as compare_views
from webapp.tournaments.form import views as form_views
from webapp.tournaments.keeping import views as storage_views
from webapp.tournaments.notices import views as notification_views
from webapp.tournaments.reports import views as report_views
from webapp.tournaments.sharing import project_views
from webapp.tournaments.workers import views as worker_views

app_name = "tournaments"
urlpatterns: list[URLPattern] = [
    path("", views.tournament_list, name="list"),
    path("tournaments/cards/", views.tournament_cards, name="cards"),
    path("tournaments/new/", form_views.tournament_new, name="new"),
    path("tournaments/new/check/", form_views.tournament_check, name="check"),
    path("tournaments/new/environment/", form_views.environment_defaults, name="environment-defaults"),
    path("tournaments/new/presets/<slug:slug>/", form_views.preset_start, name="preset-start"),
    path("tournaments/<int:tournament_id>/", views.tournament_detail, name="detail"),
    path("tournaments/<int:tournament_id>/spec.toml", views.tournament_spec, name="spec"),
    path("tournaments/<int:tournament_id>/report/", report_views.tournament_report, name="report"),
    path("slots/", views.slots, name="slots"),
    path("compare/", compare_views.compare, name="compare"),
    path("workers/", worker_views.worker_list, name="workers"),
    path("workers/cards/", worker_views.worker_cards, name="worker-cards"),
    path("storage/", storage_views.storage, name="storage"),
    path("agents/<int:agent_id>/", views.agent_detail, name="agent"),
    path("agents/<int:agent_id>/exports/<slug:name>/", artefact_views.export, name="export"),
    path("agents/<int:agent_id>/replays/<slug:name>/", artefact_views.replay, name="replay"),
    path("notifications/", notification_views.notifications, name="notifications"),
    path("notifications/webhooks/", notification_views.webhook_rows, name="webhook-rows"),
    path("projects/", project_views.projects, name="projects"),
    path("projects/<int:project_id>/", project_views.project, name="project"),
]
