"""Projects: teams that see and control tournaments together."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from webapp.accounts import audit
from webapp.accounts.access import Actor
from webapp.accounts.models import Project, ProjectMember, Role
from webapp.accounts.notices import publish_access
from webapp.accounts.services import AccountError


def projects_visible(actor: Actor) -> QuerySet[Project]:
    """Those that `actor` is a member of; an admin sees all, the holder of a share link none."""
    if actor.user is None:
        return Project.objects.none()
    return Project.objects.all() if actor.sees_all else Project.objects.filter(of_member(actor))


def of_member(actor: Actor, *roles: Role) -> Q:
    """The condition on projects that `actor` is a member, with one of `roles` if any are given."""
    members = ProjectMember.objects.filter(user=actor.user)
    return Q(pk__in=(members.filter(role__in=roles) if roles else members).values("project"))


def project_kept_by(actor: Actor, project: Project) -> bool:
    """Whether `actor` may rename it and say who its members are."""
    if not actor.runs:
        return False
    return actor.sees_all or ProjectMember.objects.filter(project=project, user=actor.user, role=Role.ADMIN).exists()


def projects_usable(actor: Actor) -> QuerySet[Project]:
    """Those that `actor` may put tournaments into."""
    if actor.sees_all:
        return Project.objects.all()
    return Project.objects.filter(of_member(actor, Role.RUNNER, Role.ADMIN))


def project_create(*, name: str, creator: User) -> Project:
    """A project with its creator as admin. Raises AccountError."""
    with transaction.atomic():
        project = Project.objects.create(name=_name(name))
        ProjectMember.objects.create(project=project, user=creator, role=Role.ADMIN)
        audit.record("project_created", f"Made the project {project.name}.")
    return project


def project_rename(*, project_id: int, name: str) -> None:
    """Raises AccountError, Project.DoesNotExist."""
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        before, project.name = project.name, _name(name, but=project_id)
        project.save(update_fields=["name"])
        audit.record("project_renamed", f"Renamed the project {before} to {project.name}.")


def project_delete(*, project_id: int) -> None:
    """Its tournaments stay with their owners. Raises Project.DoesNotExist."""
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        for member in project.members.all():
            publish_access(member.user_id)
        audit.record("project_deleted", f"Deleted the project {project.name}.")
        project.delete()


def member_set(*, project_id: int, name: str, role: str) -> None:
    """Make somebody a member, or change what they are. Raises AccountError, Project.DoesNotExist."""
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        name = name.strip()
        user = User.objects.filter(username=name, is_active=True).first() if name.isprintable() else None
        if user is None:
            raise AccountError(f"There is nobody called {name!r} here; an admin can invite them under People.")
        member = project.members.filter(user=user).first()
        if member and member.role == Role(role):
            return
        if member and member.role == Role.ADMIN:
            _admin_left(project, member)
        ProjectMember.objects.update_or_create(project=project, user=user, defaults={"role": Role(role)})
        audit.record("member_set", f"Made {user.username} {role} of the project {project.name}.")
        publish_access(user.pk)


def member_remove(*, project_id: int, name: str) -> None:
    """Raises AccountError for the last admin; Project.DoesNotExist."""
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        members = project.members.select_related("user")
        member = members.filter(user__username=name).first() if name.isprintable() else None
        if member is None:
            return
        if member.role == Role.ADMIN:
            _admin_left(project, member)
        member.delete()
        audit.record("member_removed", f"Removed {member.user.username} from the project {project.name}.")
        publish_access(member.user_id)


def members_list(project: Project) -> QuerySet[Any]:
    return project.members.select_related("user").order_by("user__username")


def names_to_add(project: Project) -> list[str]:
    """People with an account who are no members yet."""
    people = User.objects.filter(is_active=True).exclude(memberships__project=project)
    return list(people.order_by("username").values_list("username", flat=True))


def _admin_left(project: Project, leaving: ProjectMember) -> None:
    if not project.members.filter(role=Role.ADMIN).exclude(pk=leaving.pk).exists():
        raise AccountError(f"{project.name} needs an admin: make somebody else one first.")


def _name(name: str, *, but: int | None = None) -> str:
    name = " ".join(name.split())
    if not name or len(name) > 80 or not name.isprintable():
        raise AccountError("Give the project a name of 1 to 80 characters.")
    if Project.objects.filter(name__iexact=name).exclude(pk=but or 0).exists():
        raise AccountError(f"There is a project {name!r} already.")
    return name
