"""The web process: HTTP to Django, WebSockets to the consumers."""

import gc
import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
# Before the consumers are imported: they use models.
_http = get_asgi_application()

from webapp.security import OriginRequired  # noqa: E402
from webapp.tournaments.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": _http,
        "websocket": OriginRequired(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)

# What has been loaded stays. Had the collector to look at it again, a long answer would take half as long again.
gc.collect()
gc.freeze()
