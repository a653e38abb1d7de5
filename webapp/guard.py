"""Before any page or operation runs: may whoever asks do that, to that tournament?

An address that names a tournament or an agent is guarded by what it names: reading needs to see the tournament,
anything else to control it. One that names neither needs the level that RULES gives it. What is in no rule is for
admins, who see everything anyway; a test fails until it has one.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils.deprecation import MiddlewareMixin
from django.views.defaults import page_not_found, permission_denied

from webapp.accounts import audit
from webapp.accounts.access import Actor, Level, actor_set, address_of, level_problem, request_actor
from webapp.accounts.middleware import SAFE_METHODS, is_open
from webapp.accounts.models import Scope
from webapp.tournaments import access
from webapp.tournaments.api import common
from webapp.tournaments.sharing.sharing import link_actor

SHARED_PREFIX = "/shared/"


class Action(Enum):
    """What of a tournament is wanted."""

    SEE = "see"
    CONTROL = "control"
    SHARE = "share"


class Own(Enum):
    """What is about one's own account: for a session, and of tokens for one that may do everything."""

    ACCOUNT = "account"


Rule = Level | Action | Own

OBJECTS = {"tournament_id": ("tournament", "pk"), "agent_id": ("agent", "agents")}
"""Arguments of addresses that name what belongs to a tournament: what it is called, and how Tournament finds it."""

RULES: dict[str, Rule] = {
    # "*": any method; the view itself refuses those that it does not have
    # Pages
    "GET ": Level.LOOK,
    "GET tournaments/cards/": Level.LOOK,
    "GET tournaments/new/": Level.RUN,
    "POST tournaments/new/": Level.RUN,
    "* tournaments/new/check/": Level.RUN,
    "GET tournaments/new/environment/": Level.RUN,
    "* tournaments/new/presets/<slug:slug>/": Level.RUN,
    "GET slots/": Level.LOOK,
    "* compare/": Level.LOOK,
    "* workers/": Level.LOOK,
    "* workers/cards/": Level.LOOK,
    "* storage/": Level.LOOK,
    "GET metrics": Level.LOOK,
    # One's own account
    "* sign-out/": Level.LOOK,
    "GET tokens/": Own.ACCOUNT,
    "POST tokens/": Own.ACCOUNT,
    "* tokens/<int:token_id>/revoke/": Own.ACCOUNT,
    "GET password/": Own.ACCOUNT,
    "POST password/": Own.ACCOUNT,
    "GET notifications/": Own.ACCOUNT,
    "POST notifications/": Own.ACCOUNT,
    "* notifications/webhooks/": Own.ACCOUNT,
    # An address is as good as a password with many chats.
    "* api/webhooks": Own.ACCOUNT,
    "* api/webhooks/<webhook_id>": Own.ACCOUNT,
    "* api/webhooks/<webhook_id>/test": Own.ACCOUNT,
    "* api/webhooks/<webhook_id>/enable": Own.ACCOUNT,
    # Projects: which ones, and who keeps them, is decided by webapp.accounts.projects
    "GET projects/": Level.LOOK,
    "POST projects/": Level.RUN,
    "GET projects/<int:project_id>/": Level.LOOK,
    "POST projects/<int:project_id>/": Level.RUN,
    # People and the audit log
    "GET people/": Level.ADMIN,
    "POST people/": Level.ADMIN,
    "GET people/<int:user_id>/": Level.ADMIN,
    "POST people/<int:user_id>/": Level.ADMIN,
    "GET audit/": Level.ADMIN,
    "GET audit.csv": Level.ADMIN,
    # The API
    "GET api/": Level.LOOK,
    "GET api/docs": Level.LOOK,
    "GET api/openapi.json": Level.LOOK,
    "GET api/environments": Level.LOOK,
    "GET api/workers": Level.LOOK,
    "POST api/workers/<path:worker>/drain": Level.ADMIN,
    "POST api/workers/<path:worker>/resume": Level.ADMIN,
    "DELETE api/workers/<path:worker>": Level.ADMIN,
    "GET api/compare": Level.LOOK,
    "GET api/notices": Level.LOOK,
    "GET api/tournaments": Level.LOOK,
    "POST api/tournaments": Level.RUN,
    "GET api/projects": Level.LOOK,
    "GET api/tournaments/<tournament_id>/sharing": Action.SHARE,
    "PUT api/tournaments/<tournament_id>/sharing": Action.SHARE,
    "POST api/tournaments/<tournament_id>/links": Action.SHARE,
    "DELETE api/tournaments/<tournament_id>/links/<link_id>": Action.SHARE,
    "* api/<path:rest>": Level.LOOK,
}


def rule_of(method: str, route: str, names: Sequence[str]) -> Rule | None:
    """What a request with `method` to `route` needs, whose arguments are `names`; None for what was forgotten."""
    read = method in SAFE_METHODS
    if route.startswith("admin/"):
        return Level.ADMIN
    listed = RULES.get(f"{'GET' if read else method} {route}", RULES.get(f"* {route}"))
    if listed is not None:
        return listed
    named = [name for name in names if name.endswith("_id")]
    if not named or any(name not in OBJECTS for name in named):
        return None
    return Action.SEE if read else Action.CONTROL


class SharedLinkMiddleware(MiddlewareMixin):
    """/shared/TOKEN/... is the dashboard as whoever holds the link sees it: one tournament, to be looked at.

    The rest of the address is routed as always, and every address that Django makes for the answer begins alike.
    """

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        before = get_script_prefix()
        request.prefix = before.rstrip("/")  # type: ignore[attr-defined]
        if not request.path_info.startswith(SHARED_PREFIX):
            return None
        token, slash, rest = request.path_info.removeprefix(SHARED_PREFIX).partition("/")
        actor = link_actor(token, address=address_of(request))
        request.actor = actor or Actor()  # type: ignore[attr-defined]
        if actor is None:
            raise Http404("This link does not work: it was revoked, has expired, or is not complete.")
        if not slash:
            return HttpResponseRedirect(f"{request.path}/")
        request.prefix_before = before  # type: ignore[attr-defined]
        request.prefix = f"{before}{SHARED_PREFIX[1:]}{token}"  # type: ignore[attr-defined]
        request.path_info = f"/{rest}"
        set_script_prefix(f"{request.prefix}/")  # type: ignore[attr-defined]
        return None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if hasattr(request, "prefix_before"):
            set_script_prefix(request.prefix_before)
            response.headers["X-Robots-Tag"] = "noindex"
            response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class GuardMiddleware(MiddlewareMixin):
    """Refuses with 404 what may not be seen, and with 403 and a sentence what may be seen and not done."""

    def process_request(self, request: HttpRequest) -> None:
        actor_set(getattr(request, "actor", None))

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        if is_open(request):
            return None
        actor, match = request_actor(request), request.resolver_match
        assert match is not None
        if actor.link_tournament_id is not None and match.route == "":
            return HttpResponseRedirect(reverse("tournaments:detail", args=[actor.link_tournament_id]))
        rule = rule_of(request.method or "", match.route, tuple(kwargs))
        try:
            _check(request, actor, rule, kwargs)
        except (Http404, PermissionDenied) as refused:
            return _refusal(request, match.route, refused)
        return None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.method == "GET" and response.get("Content-Disposition", "").startswith("attachment"):
            _download_record(request, response)
        actor_set(None)
        return response


def _refusal(request: HttpRequest, route: str, refused: Exception) -> HttpResponseBase:
    missing = isinstance(refused, Http404)
    if route.startswith("api/"):
        return common.refusal(404 if missing else 403, str(refused))
    return page_not_found(request, refused) if missing else permission_denied(request, refused)


def _download_record(request: HttpRequest, response: HttpResponseBase) -> None:
    """Files that were taken away are in the audit log; of one that is fetched in parts, the first part in a while."""
    found = getattr(request, "access", access.NOTHING)
    if found.sees and response.status_code in (200, 206):
        name = response["Content-Disposition"].partition("filename=")[2].strip('"')
        audit.record_once("downloaded", f"Downloaded {name}.", tournament_id=found.tournament_id)


def _check(request: HttpRequest, actor: Actor, rule: Rule | None, kwargs: dict[str, Any]) -> None:
    """Raises Http404 or PermissionDenied, and notes on the request what its templates may show."""
    if rule is None or isinstance(rule, Level):
        _level_check(actor, Level.ADMIN if rule is None else rule)
    elif isinstance(rule, Own):
        _level_check(actor, Level.LOOK)
        if actor.token_name and actor.scope != Scope.ADMIN:
            raise PermissionDenied(f"The scope of this API token is {actor.scope}; this needs {Scope.ADMIN}.")
    else:
        for name in OBJECTS.keys() & kwargs.keys():
            request.access = _object_check(actor, rule, name, kwargs[name])  # type: ignore[attr-defined]


def _level_check(actor: Actor, needed: Level) -> None:
    if actor.link_tournament_id is not None:
        raise Http404("A share link shows its tournament and nothing else.")
    if problem := level_problem(actor, needed):
        raise PermissionDenied(problem)


def _object_check(actor: Actor, action: Action, name: str, value: Any) -> access.Access:
    """What `actor` may do with the tournament that is meant, where that includes `action`."""
    kind, field = OBJECTS[name]
    number = common.id_read(str(value))
    found = access.NOTHING if number is None else access.access_to(actor, **{field: number})
    if not found.sees:
        raise Http404(f"There is no {kind} {value if number is not None else repr(value)}.")
    if action is Action.SEE:
        return found
    if problem := level_problem(actor, Level.RUN):
        raise PermissionDenied(problem)
    if not found.controls:
        raise PermissionDenied("You may look at this tournament; its owner and runners of its project control it.")
    if action is Action.SHARE and not found.shares:
        raise PermissionDenied("Its owner and admins of its project say who sees this tournament.")
    return found
