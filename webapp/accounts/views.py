"""Signing in and out, and the page of API tokens."""

import math
from datetime import timedelta

from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from webapp.accounts import audit, throttle
from webapp.accounts.access import Actor, actor_of, address_of, request_user
from webapp.accounts.forms import PasswordForm, SignInForm, TokenForm
from webapp.accounts.models import ApiToken
from webapp.accounts.notices import publish_access
from webapp.accounts.services import (
    AccountError,
    api_token_create,
    api_token_revoke,
    password_set,
    scopes_allowed,
    sign_in_link_consume,
)

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
                _sign_in(request, user, "with a password")
                return redirect(target)
            form.add_error(None, problem)
    return render(request, "accounts/sign_in.html", {"form": form, "next": target}, status=status)


@never_cache
@require_GET
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Use up a one-time link: signed in, and on to the tournaments."""
    address = address_of(request)
    wait = throttle.wait_needed(address, "")
    user = None if wait else sign_in_link_consume(token)
    if user:
        _sign_in(request, user, "with a sign-in link")
        return redirect("/")
    if request.user.is_authenticated:
        return redirect("/")
    if wait:
        problem, status = _wait_sentence(wait), 429
    else:
        throttle.failure_record(address, "")
        audit.record("sign_in_failed", "A sign-in link did not work.", actor=Actor(address=address))
        problem, status = "This link was used already, has expired, or is not complete.", 403
    return render(request, "accounts/sign_in.html", {"form": SignInForm(), "problem": problem}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, and close its sockets."""
    user = request_user(request)
    with transaction.atomic():
        audit.record("sign_out", f"{user.username} signed out.")
        logout(request)
        publish_access(user.pk)
    return redirect("accounts:sign-in")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's API tokens; a POST makes one, whose text is in the answer and nowhere else."""
    user = request_user(request)
    scopes = scopes_allowed(user)
    form = TokenForm(request.POST or None, scopes=scopes)
    text, status = None, 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                values = form.cleaned_data
                _, text = api_token_create(
                    user=user, name=values["name"], scope=values["scope"] or None, lifetime_days=values["lifetime"]
                )
                form, status = TokenForm(scopes=scopes), 201
            except AccountError as error:
                form.add_error("name", str(error))
    items = ApiToken.objects.filter(user=user, revoked_at=None)
    context = {"form": form, "tokens": items, "text": text, "now": timezone.now()}
    return render(request, "accounts/tokens.html", context, status=status)


@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one token."""
    api_token_revoke(user=request_user(request), token_id=token_id)
    return redirect("accounts:tokens")


@sensitive_post_parameters("password", "again")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Set one's own password; other sessions of the same person end."""
    form = PasswordForm(request.POST or None)
    done, status = False, 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                user = request_user(request)
                password_set(user=user, password=form.cleaned_data["password"])
                update_session_auth_hash(request, user)
                form, done, status = PasswordForm(), True, 200
            except AccountError as error:
                form.add_error("password", str(error))
    return render(request, "accounts/password.html", {"form": form, "done": done}, status=status)


def safe_target(request: HttpRequest, target: str) -> str:
    """`target` where it is an address of this dashboard, else its first page."""
    ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if ours else "/"


def _sign_in(request: HttpRequest, user: User, how: str) -> None:
    actor = actor_of(user, address=address_of(request))
    with transaction.atomic():
        login(request, user, backend=BACKEND)
        audit.record("sign_in", f"{user.username} signed in {how}.", actor=actor)


def _password_check(request: HttpRequest, username: str, password: str) -> tuple[User | None, str, int]:
    """The user, or why not and the status to answer with."""
    address = address_of(request)
    if wait := throttle.wait_needed(address, username):
        return None, _wait_sentence(wait), 429
    user = authenticate(request, username=username, password=password)
    if isinstance(user, User):
        throttle.failures_forget(address, username)
        return user, "", 200
    throttle.failure_record(address, username)
    # A name that nobody has may be a password typed into the wrong field.
    known = User.objects.filter(username=username).exists()
    text = "A wrong password." if known else "A name that nobody has."
    audit.record("sign_in_failed", text, actor=Actor(name=username if known else "", address=address))
    return None, "Name and password do not match. Passwords are case-sensitive.", 403


def _wait_sentence(wait: timedelta) -> str:
    minutes = max(1, math.ceil(wait.total_seconds() / 60))
    return f"Too many failed sign-ins: try again in {minutes} minute{'s' if minutes > 1 else ''}."
