"""Probabilities from a bootstrap, which never shows that something is certain."""

from collections.abc import Mapping

from django import template

from webapp.tournaments.templatetags.podracer import NBSP

register = template.Library()


@register.filter
def chance(value: float) -> str:
    """84 %; > 99 % and < 1 % at the ends."""
    if value > 0.99:
        return f">{NBSP}99{NBSP}%"
    return f"<{NBSP}1{NBSP}%" if value < 0.01 else f"{value * 100:.0f}{NBSP}%"


@register.filter
def chances(estimate: Mapping[str, float]) -> str:
    """The interval of an estimate as 81 to 86 %; nothing where it is too narrow to tell."""
    low, high = round(estimate["low"] * 100), round(estimate["high"] * 100)
    return "" if low == high else f"{low} to {high}{NBSP}%"
