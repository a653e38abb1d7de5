"""The Django app of accounts."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Sign-in links and API tokens."""

    name = "webapp.accounts"
    label = "accounts"
