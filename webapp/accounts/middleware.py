"""Who is asking, and may they."""

from django.utils.deprecation import MiddlewareMixin


class TokenAuthenticationMiddleware(MiddlewareMixin):
    """Placeholder."""


class SignInRequiredMiddleware(MiddlewareMixin):
    """Placeholder."""
