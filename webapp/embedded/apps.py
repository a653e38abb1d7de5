"""The Django app whose command is `manage.py up`."""

from django.apps import AppConfig


class EmbeddedConfig(AppConfig):
    """Holds no models: only management commands."""

    name = "webapp.embedded"
    label = "embedded"
