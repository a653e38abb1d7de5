"""How full the storage is, drawn and warned of."""

from django import template

from webapp.tournaments.keeping.disk import Disk, disk_lately

register = template.Library()


@register.simple_tag
def disk_low() -> Disk | None:
    """The storage's disk where little of it is free; None where there is enough, or no disk."""
    found = disk_lately()
    return found if found and found.low else None


@register.filter
def share_of(value: float, whole: float) -> str:
    """A part's width in its bar."""
    return f"{100 * value / whole:.2f}%" if whole else "0"
