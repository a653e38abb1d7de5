"""What browsers may load, and from where they may open sockets."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApplication = Callable[[Scope, Receive, Send], Awaitable[None]]

# Plotly and htmx put style elements into the page, so styles may be inline; scripts never are.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "media-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Adds the Content-Security-Policy to every answer that does not bring its own."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response


class OriginRequired:
    """Refuses a WebSocket that is neither our page's (allowed Origin) nor a program's (bearer token).

    Browsers let any page open a socket with the visitor's cookie, so a cookie alone proves nothing.
    """

    def __init__(self, application: ASGIApplication) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        application = self.application if may_connect(dict(scope["headers"])) else WebsocketDenier()
        await application(scope, receive, send)


def may_connect(headers: dict[bytes, bytes]) -> bool:
    """Whether a socket with these headers (lower-case names) may go on to authentication."""
    origin, host = headers.get(b"origin", b"").decode("latin1"), headers.get(b"host", b"").decode("latin1")
    if not origin:
        return headers.get(b"authorization", b"").lower().startswith(b"bearer ")
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    same_origin = bool(host) and urlsplit(origin).netloc.lower() == host.lower()
    return same_origin and validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)
