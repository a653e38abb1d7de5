"""Who sees a tournament: its project, everybody, and links for those who have no account."""

from typing import Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from podracer_core.errors import SpecError
from webapp.accounts.access import request_actor
from webapp.accounts.projects import projects_visible
from webapp.tournaments import schemas
from webapp.tournaments.api import common
from webapp.tournaments.schemas import Limit, Offset
from webapp.tournaments.sharing import selectors as sharing_selectors
from webapp.tournaments.sharing import sharing

router = Router()


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SharingChange(_Body):
    """Whole: what is left out is as if it were null or false."""

    project: str | None = Field(None, description="id of the project whose members see and control it")
    shared: bool = Field(False, description="everybody who is signed in may look")


class LinkRequest(_Body):
    name: str = Field(description="for whom it is, 1 to 80 characters")
    lifetime_days: Literal[30, 90, 365] | None = Field(90, description="null: it never expires")


class LinkOut(_Body):
    id: str
    name: str
    created_by: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None


class NewLink(LinkOut):
    """`url` is shown now and never again."""

    url: str


class ProjectOut(_Body):
    id: str
    name: str


class ProjectPage(_Body):
    items: list[ProjectOut]
    count: int


class SharingOut(_Body):
    """`projects`: those that you may put it into."""

    owner: str
    project: str | None
    project_name: str | None
    shared: bool
    links: list[LinkOut]
    projects: list[ProjectOut]


@router.get("/projects", response=common.answers(ProjectPage), summary="The projects that you are a member of")
def projects(request: HttpRequest, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    found = projects_visible(request_actor(request))
    items = [{"id": str(project.pk), "name": project.name} for project in found[offset : offset + limit]]
    return common.answer({"items": items, "count": found.count()})


@router.get(
    "/tournaments/{tournament_id}/sharing", response=common.answers(SharingOut, 403, 404), summary="Who sees it"
)
def sharing_get(request: HttpRequest, tournament_id: str) -> HttpResponse:
    return _sharing(request, common.tournament_id(tournament_id))


@router.put(
    "/tournaments/{tournament_id}/sharing",
    response=common.answers(SharingOut, 403, 404),
    summary="Share it with a project, or with everybody who is signed in",
)
def sharing_change(request: HttpRequest, tournament_id: str, change: SharingChange) -> HttpResponse:
    number = common.tournament_id(tournament_id)
    project = None if change.project is None else common.id_read(change.project)
    if change.project is not None and project is None:
        raise SpecError([("project", f"{change.project!r} is no id of a project")])
    sharing.sharing_change(actor=request_actor(request), tournament_id=number, project_id=project, shared=change.shared)
    return _sharing(request, number)


def _sharing(request: HttpRequest, tournament_id: int) -> HttpResponse:
    return common.answer(sharing_selectors.sharing_get(request_actor(request), tournament_id))


@router.post(
    "/tournaments/{tournament_id}/links",
    response=common.answers(NewLink, 403, 404, status=201),
    summary="Make a link for somebody without an account to look",
)
def link_create(request: HttpRequest, tournament_id: str, wanted_link: LinkRequest) -> HttpResponse:
    """Whoever holds its address sees the tournament and its agents, and can change nothing."""
    link, token = sharing.link_create(
        actor=request_actor(request),
        tournament_id=common.tournament_id(tournament_id),
        name=wanted_link.name,
        lifetime_days=wanted_link.lifetime_days,
    )
    url = request.build_absolute_uri(f"{request.prefix}/shared/{token}/")  # type: ignore[attr-defined]
    return common.answer({**sharing_selectors.link_item(link), "url": url}, 201)


@router.delete(
    "/tournaments/{tournament_id}/links/{link_id}",
    response={204: None, 403: schemas.Errors, 404: schemas.Errors},
    summary="Revoke a link; pages open by it close",
)
def link_revoke(request: HttpRequest, tournament_id: str, link_id: str) -> HttpResponse:
    number = common.id_read(link_id)
    if number is None or not sharing.link_revoke(tournament_id=common.tournament_id(tournament_id), link_id=number):
        return common.refusal(404, f"Tournament {tournament_id} has no open link {link_id}.")
    return HttpResponse(status=204)
