"""Who is asking, and may they."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import resolve_url
from django.utils.deprecation import MiddlewareMixin

from webapp.accounts.access import actor_of, address_of
from webapp.accounts.services import TokenRefusedError, api_token_check

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/sign-in/"})
OPEN_PREFIXES = ("/sign-in/link/", settings.STATIC_URL)
PROGRAM_PREFIXES = ("/api/", "/metrics")
"""Asked by programs: they get a status and JSON, not a page to sign in on."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class TokenAuthenticationMiddleware(MiddlewareMixin):
    """`Authorization: Bearer TOKEN` makes the token's user the request's; a wrong one is a 401 everywhere."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        if hasattr(request, "actor"):  # of a share link, which no token widens
            return None
        try:
            found = api_token_check(token.strip())
        except TokenRefusedError as refused:
            return _unauthorised(str(refused))
        request.user = found.user
        request.actor = actor_of(found.user, found, address=address_of(request))  # type: ignore[attr-defined]
        request.token_authenticated = True  # type: ignore[attr-defined]
        # A foreign page can make a browser send its cookie, but not this header.
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        return None


class SignInRequiredMiddleware(MiddlewareMixin):
    """Closes everything to strangers but the health checks, the sign-in pages and static files."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        # The open paths first: a health check must not need the database for its session.
        if is_open(request):
            return None
        if hasattr(request, "actor"):
            if request.actor.user is None:  # a share link, also in the hands of somebody signed in
                request.user = AnonymousUser()
            return None
        if isinstance(request.user, User):
            request.actor = actor_of(request.user, address=address_of(request))  # type: ignore[attr-defined]
            return None
        if request.path.startswith(PROGRAM_PREFIXES):
            return _unauthorised("Sign in, or send an API token as 'Authorization: Bearer TOKEN'.")
        target = resolve_url(settings.LOGIN_URL)
        if request.method in SAFE_METHODS and request.get_full_path() != "/":
            target += f"?next={quote(request.get_full_path(), safe='/')}"
        return HttpResponseRedirect(target)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        """CSRF also for the API, exempt for the sake of programs, when a cookie came instead of a token."""
        if not getattr(view, "csrf_exempt", False) or getattr(request, "token_authenticated", False):
            return None
        refused = CsrfViewMiddleware(_never_called).process_view(request, _not_exempt, (), {})
        if refused is None:
            return None
        detail = "This request did not come from a page of this dashboard: reload the page and try again."
        return JsonResponse({"detail": detail}, status=403)


def is_open(request: HttpRequest) -> bool:
    """Whether strangers may ask this."""
    return request.path in OPEN_PATHS or request.path.startswith(OPEN_PREFIXES)


def _unauthorised(detail: str) -> JsonResponse:
    return JsonResponse({"detail": detail}, status=401, headers={"WWW-Authenticate": "Bearer"})


def _never_called(request: HttpRequest) -> HttpResponse:
    raise AssertionError("only process_view of this middleware is used")


def _not_exempt(request: HttpRequest) -> HttpResponse:
    raise AssertionError("only looked at for the attribute csrf_exempt")
