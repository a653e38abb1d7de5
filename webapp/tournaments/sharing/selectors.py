"""Reads of who sees a tournament, for its sharing dialog and the API."""

from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from webapp.accounts.access import Actor
from webapp.accounts.models import Project
from webapp.accounts.projects import projects_usable
from webapp.tournaments import access
from webapp.tournaments.clock import iso
from webapp.tournaments.models import ShareLink, Tournament
from webapp.tournaments.selectors import Item


def sharing_get(actor: Actor, tournament_id: int) -> Item:
    """Owner, project, whether everybody looks, open links, and the projects that it may go to.

    Raises Tournament.DoesNotExist.
    """
    row = Tournament.objects.select_related("owner", "project").get(pk=tournament_id)
    return {
        "owner": row.owner.get_username(),
        "project": str(row.project_id) if row.project else None,
        "project_name": row.project.name if row.project else None,
        "shared": row.shared,
        "links": [link_item(link) for link in _open(tournament_id)],
        "projects": [{"id": str(project.pk), "name": project.name} for project in projects_usable(actor)],
    }


def link_item(link: ShareLink) -> Item:
    return {
        "id": str(link.pk),
        "name": link.name,
        "created_by": link.created_by.get_username() if link.created_by else None,
        "created_at": link.created_at.isoformat(),
        "expires_at": iso(link.expires_at),
        "last_used_at": iso(link.last_used_at),
    }


def project_list(projects: QuerySet[Project]) -> QuerySet[Any]:
    """With the number of their members and tournaments."""
    return projects.annotate(
        member_count=Count("members", distinct=True), tournament_count=Count("tournaments", distinct=True)
    )


def in_project(actor: Actor, project: Project) -> Q:
    """The condition on tournaments that they are in `project`, and that `actor` may see them."""
    return access.visible(actor) & Q(project=project)


def _open(tournament_id: int) -> list[ShareLink]:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    links = ShareLink.objects.select_related("created_by").filter(unexpired, tournament=tournament_id, revoked_at=None)
    return list(links.order_by("-pk"))
