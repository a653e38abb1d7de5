"""Podracer's client for programs: submit tournaments, watch them, fetch what they bring::

    from podracer_client import Client
    client = Client()                                   # PODRACER_URL and PODRACER_TOKEN, or this machine's own
    tournament = client.submit({"env_id": "CartPole-v1"})
    client.wait(tournament["id"])
    client.download_checkpoint(client.leaderboard(tournament["id"])[0]["agent"], "champion.safetensors")

It needs Python alone; `watch` needs the package websockets too. It speaks the API that /api/docs describes.
"""

from podracer_client.client import Client
from podracer_client.errors import ApiError, ClientError, ConnectionLostError

__all__ = ["ApiError", "Client", "ClientError", "ConnectionLostError"]
