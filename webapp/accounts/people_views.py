"""The pages of people, for admins: who is here, and one person."""

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from webapp.accounts import people as services
from webapp.accounts.access import role_of
from webapp.accounts.forms import InviteForm
from webapp.accounts.models import ApiToken, Role
from webapp.accounts.services import OWNER_NAME, AccountError, api_token_revoke


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """Everybody; a POST invites somebody, whose link is in the answer and nowhere else."""
    form, context, status = InviteForm(request.POST or None), {}, 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                invited, link = services.person_invite(**form.cleaned_data, base_url=request.build_absolute_uri("/"))
                context, form, status = {"invited": invited, "link": link}, InviteForm(), 201
            except AccountError as error:
                form.add_error("name", str(error))
    context |= {"section": "people", "form": form, "people": services.people_list()}
    return render(request, "accounts/people.html", context, status=status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def person(request: HttpRequest, user_id: int) -> HttpResponse:
    """One person; a POST does what its `action` names."""
    found = User.objects.filter(pk=user_id).first()
    if found is None:
        raise Http404("There is nobody here with this number.")
    problem, link = "", ""
    if request.method == "POST":
        try:
            link = _act(request, user_id)
        except AccountError as error:
            problem = str(error)
        if not problem and not link:
            return redirect("accounts:person", user_id)
    context = {
        "section": "people",
        "person": found,
        "role": role_of(found),
        "roles": Role.choices,
        "is_owner": found.username == OWNER_NAME,
        "tokens": ApiToken.objects.filter(user=found, revoked_at=None),
        "projects": found.memberships.select_related("project").order_by("project__name"),
        "now": timezone.now(),
        "problem": problem,
        "link": link,
    }
    return render(request, "accounts/person.html", context, status=409 if problem else 200)


def _act(request: HttpRequest, user_id: int) -> str:
    """Do it; answers a sign-in link where one was asked for. Raises AccountError."""
    action = request.POST.get("action", "")
    if action == "role":
        role = request.POST.get("role", "")
        if role not in Role.values:
            raise AccountError(f"There is no role {role!r}; there are {', '.join(Role.values)}.")
        services.person_role_change(user_id=user_id, role=role)
    elif action == "deactivate":
        services.person_deactivate(user_id=user_id)
    elif action == "reactivate":
        services.person_reactivate(user_id=user_id)
    elif action == "revoke":
        token = request.POST.get("token", "")
        if token.isascii() and token.isdecimal() and len(token) < 19:
            api_token_revoke(user=User.objects.get(pk=user_id), token_id=int(token))
    elif action == "link":
        return services.person_link_create(user_id=user_id, base_url=request.build_absolute_uri("/"))
    else:
        raise AccountError(f"There is nothing called {action[:40]!r} to do with a person.")
    return ""
