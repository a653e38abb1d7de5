"""The REST API."""

from ninja import NinjaAPI

api = NinjaAPI(title="Podracer")
