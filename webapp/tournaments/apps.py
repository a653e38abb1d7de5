"""The Django app of tournaments."""

from django.apps import AppConfig


class TournamentsConfig(AppConfig):
    """Everything a user works with."""

    name = "webapp.tournaments"
    label = "tournaments"
    default_auto_field = "django.db.models.BigAutoField"
