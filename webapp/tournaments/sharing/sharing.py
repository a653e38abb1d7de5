"""Who sees a tournament is changed here: its project, everybody, and links for those who have no account."""

import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from podracer_core.errors import SpecError
from webapp.accounts import audit
from webapp.accounts.access import Actor
from webapp.accounts.models import Project
from webapp.accounts.projects import projects_usable
from webapp.accounts.services import LAST_USED_RESOLUTION, LIFETIMES, token_hash
from webapp.tournaments import events, orchestrator
from webapp.tournaments.models import ShareLink, Tournament


def sharing_change(*, actor: Actor, tournament_id: int, project_id: int | None, shared: bool) -> None:
    """Put a tournament into a project or (None) none, and open it to everybody who is signed in or not.

    Raises Tournament.DoesNotExist, SpecError for a project that `actor` may put nothing into.
    """
    with orchestrator.changing_existing(tournament_id) as tournament:
        if project_id != tournament.project_id:
            tournament.project = None if project_id is None else _project(actor, project_id)
        tournament.shared = shared
        tournament.save(update_fields=["project", "shared"])
        audit.record(
            "sharing_changed", f"{tournament.name} is seen by {seen_by(tournament)}.", tournament_id=tournament_id
        )
        events.publish_access(tournament_id)


def seen_by(tournament: Tournament) -> str:
    """Who sees it, beside admins and holders of links."""
    circle = f"the project {tournament.project.name}" if tournament.project else "its owner"
    return "everybody who is signed in" if tournament.shared else circle


def _project(actor: Actor, project_id: int) -> Project:
    project = projects_usable(actor).filter(pk=project_id).first()
    if project is None:
        raise SpecError([("project", f"there is no project {project_id} that you are a runner or an admin of")])
    return project


def link_create(*, actor: Actor, tournament_id: int, name: str, lifetime_days: int | None) -> tuple[ShareLink, str]:
    """A link and its token, which is shown now and never again. Raises Tournament.DoesNotExist, SpecError."""
    name = " ".join(name.split())
    if not name or len(name) > 80 or not name.isprintable():
        raise SpecError([("name", "say in 1 to 80 characters for whom the link is")])
    if lifetime_days is not None and lifetime_days not in LIFETIMES:
        days = ", ".join(map(str, LIFETIMES))
        raise SpecError([("lifetime_days", f"give {days} or null for never, got {lifetime_days}")])
    text = secrets.token_urlsafe(32)
    with orchestrator.changing_existing(tournament_id) as tournament:
        link = ShareLink.objects.create(
            tournament=tournament,
            name=name,
            token_hash=token_hash(text),
            created_by=actor.user,
            expires_at=timezone.now() + timedelta(days=lifetime_days) if lifetime_days else None,
        )
        until = f", until {link.expires_at:%Y-%m-%d}" if link.expires_at else ""
        sentence = f"Made the share link {name} to {tournament.name}{until}."
        audit.record("link_created", sentence, tournament_id=tournament_id)
    return link, text


def link_revoke(*, tournament_id: int, link_id: int) -> bool:
    """Close a link, and the pages that are open by it; False where there is no such open one."""
    with transaction.atomic():
        links = ShareLink.objects.select_for_update().filter(tournament=tournament_id, pk=link_id, revoked_at=None)
        link = links.first()
        if link is None:
            return False
        link.revoked_at = timezone.now()
        link.save(update_fields=["revoked_at"])
        audit.record("link_revoked", f"Revoked the share link {link.name}.", tournament_id=tournament_id)
        events.publish_access(tournament_id)
    return True


def link_actor(text: str, *, address: str = "") -> Actor | None:
    """Who holds the link with this token; None where it opens nothing (any more). Notes that it was used."""
    link = ShareLink.objects.filter(token_hash=token_hash(text), revoked_at=None).first()
    now = timezone.now()
    if link is None or (link.expires_at and link.expires_at <= now):
        return None
    if link.last_used_at is None or now - link.last_used_at > LAST_USED_RESOLUTION:
        ShareLink.objects.filter(pk=link.pk).update(last_used_at=now)
    return Actor(name=f"share link {link.name}", address=address, link_tournament_id=link.tournament_id)
