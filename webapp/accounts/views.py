"""Signing in and out, and the page of API tokens."""

import math
from datetime import timedelta

from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from webapp.accounts import throttle
from webapp.accounts.forms import SignInForm, TokenForm
from webapp.accounts.models import ApiToken
from webapp.accounts.services import AccountError, api_token_create, api_token_revoke, sign_in_link_consume

BACKEND = "django.contrib.auth.backends.ModelBackend"


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with name and password, then on to `next`."""
    target = safe_target(request, request.POST.get("next") or request.GET.get("next") or "/")
    if request.user.is_authenticated:
        return redirect(target)
    form = SignInForm(request.POST or None)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            user, problem, status = _password_check(request, **form.cleaned_data)
            if user:
                login(request, user, backend=BACKEND)
                return redirect(target)
            form.add_error(None, problem)
    return render(request, "accounts/sign_in.html", {"form": form, "next": target}, status=status)


@never_cache
@require_GET
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Use up a one-time link: signed in, and on to the tournaments."""
    address = _address(request)
    wait = throttle.wait_needed(address, "")
    user = None if wait else sign_in_link_consume(token)
    if user:
        login(request, user, backend=BACKEND)
        return redirect("/")
    if request.user.is_authenticated:
        return redirect("/")
    if wait:
        problem, status = _wait_sentence(wait), 429
    else:
        throttle.failure_record(address, "")
        problem, status = "This link was used already, has expired, or is not complete.", 403
    return render(request, "accounts/sign_in.html", {"form": SignInForm(), "problem": problem}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect("accounts:sign-in")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's API tokens; a POST makes one, whose text is in the answer and nowhere else."""
    form = TokenForm(request.POST or None)
    text, status = None, 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                _, text = api_token_create(user=_user(request), name=form.cleaned_data["name"])
                form, status = TokenForm(), 201
            except AccountError as error:
                form.add_error("name", str(error))
    items = ApiToken.objects.filter(user=_user(request), revoked_at=None)
    return render(request, "accounts/tokens.html", {"form": form, "tokens": items, "text": text}, status=status)


@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one token."""
    api_token_revoke(user=_user(request), token_id=token_id)
    return redirect("accounts:tokens")


def safe_target(request: HttpRequest, target: str) -> str:
    """`target` where it is an address of this dashboard, else its first page."""
    ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if ours else "/"


def _password_check(request: HttpRequest, username: str, password: str) -> tuple[User | None, str, int]:
    """The user, or why not and the status to answer with."""
    address = _address(request)
    if wait := throttle.wait_needed(address, username):
        return None, _wait_sentence(wait), 429
    user = authenticate(request, username=username, password=password)
    if isinstance(user, User):
        throttle.failures_forget(address, username)
        return user, "", 200
    throttle.failure_record(address, username)
    return None, "Name and password do not match. Passwords are case-sensitive.", 403


def _wait_sentence(wait: timedelta) -> str:
    minutes = max(1, math.ceil(wait.total_seconds() / 60))
    return f"Too many failed sign-ins: try again in {minutes} minute{'s' if minutes > 1 else ''}."


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "unknown")


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # SignInRequiredMiddleware lets nobody else in
    return request.user
