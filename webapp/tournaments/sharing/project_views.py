"""The pages of projects: which there are, and one with its members and tournaments."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from webapp.accounts import projects as services
from webapp.accounts.access import request_actor, request_user
from webapp.accounts.models import Project, Role
from webapp.accounts.services import AccountError
from webapp.tournaments import selectors
from webapp.tournaments.sharing import selectors as sharing_selectors

TOURNAMENTS_SHOWN = 24


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def projects(request: HttpRequest) -> HttpResponse:
    """Those that one is a member of; a POST makes one."""
    problem, name = "", ""
    if request.method == "POST":
        name = request.POST.get("name", "")[:200]
        try:
            made = services.project_create(name=name, creator=request_user(request))
            return redirect("tournaments:project", made.pk)
        except AccountError as error:
            problem = str(error)
    found = sharing_selectors.project_list(services.projects_visible(request_actor(request)))
    context = {"section": "projects", "projects": found, "problem": problem, "name": name}
    return render(request, "tournaments/projects.html", context, status=400 if problem else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def project(request: HttpRequest, project_id: int) -> HttpResponse:
    """One project; a POST of who keeps it does what its `action` names."""
    actor = request_actor(request)
    found = services.projects_visible(actor).filter(pk=project_id).first()
    if found is None:
        raise Http404("There is no such project, or you are no member of it.")
    kept, problem = services.project_kept_by(actor, found), ""
    if request.method == "POST":
        try:
            if not kept:
                raise AccountError("Only its admins change a project.")
            return _act(request, found)
        except AccountError as error:
            problem = str(error)
    page = selectors.tournament_list(visible=sharing_selectors.in_project(actor, found), limit=TOURNAMENTS_SHOWN)
    context: dict[str, Any] = {
        "section": "projects",
        "project": found,
        "kept": kept,
        "members": services.members_list(found),
        "roles": Role.choices,
        "names": services.names_to_add(found) if kept else [],
        "problem": problem,
        **page,
    }
    return render(request, "tournaments/project.html", context, status=(409 if kept else 403) if problem else 200)


def _act(request: HttpRequest, project: Project) -> HttpResponse:
    """Do it, then back to the page. Raises AccountError."""
    action, values = request.POST.get("action", ""), request.POST
    if action == "delete":
        services.project_delete(project_id=project.pk)
        return redirect("tournaments:projects")
    if action == "rename":
        services.project_rename(project_id=project.pk, name=values.get("name", ""))
    elif action == "member":
        if values.get("role") not in Role.values:
            raise AccountError(f"A member is {', '.join(Role.values)}.")
        services.member_set(project_id=project.pk, name=values.get("name", ""), role=values["role"])
    elif action == "remove":
        services.member_remove(project_id=project.pk, name=values.get("name", ""))
    else:
        raise AccountError(f"There is nothing called {action[:40]!r} to do with a project.")
    return redirect("tournaments:project", project.pk)
