"""Every address that Podracer answers."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from webapp import health
from webapp.tournaments.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("api/", api.urls),
    path("admin/", admin.site.urls),
    path("", include("webapp.accounts.urls")),
    path("", include("webapp.tournaments.urls")),
]
