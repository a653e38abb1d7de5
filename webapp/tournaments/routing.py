"""Addresses of the WebSocket consumers."""

from django.urls import URLPattern

websocket_urlpatterns: list[URLPattern] = []
