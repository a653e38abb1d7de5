"""Addresses of the WebSocket consumers."""

from django.urls import URLPattern, re_path

from webapp.tournaments.live.consumers import TournamentConsumer

websocket_urlpatterns: list[URLPattern] = [
    re_path(r"^ws/tournaments/(?P<tournament_id>[^/]+)/$", TournamentConsumer.as_asgi()),
    re_path(r"^shared/(?P<link_token>[^/]+)/ws/tournaments/(?P<tournament_id>[^/]+)/$", TournamentConsumer.as_asgi()),
    # Any other address: refused by the same consumer as naming no tournament.
    re_path(r"", TournamentConsumer.as_asgi()),
]
