"""Numbers, times and small drawings as the pages show them."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from podracer_core.envs.wrapped import wrapping_of
from podracer_core.tournament import sentences
from webapp.tournaments import strict_json
from webapp.tournaments.form.hyperparameters import described
from webapp.tournaments.form.typed import SpaceRow
from webapp.tournaments.workers import selectors as worker_selectors

register = template.Library()

MINUS = "\N{MINUS SIGN}"
NBSP = "\N{NO-BREAK SPACE}"
"""Between a figure and its unit, which a line never parts."""

UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))


@register.filter
def score(value: float | None) -> str:
    """A score: thousands with commas, small ones with two decimals at most; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else sentences.number(value).replace("-", MINUS)


@register.filter
def margin(item: dict[str, Any], prefix: str = "score") -> str:
    """Half the width of the confidence interval of `item`, as ± 91."""
    low, high = item.get(f"{prefix}_low"), item.get(f"{prefix}_high")
    return "" if low is None or high is None else f"±{NBSP}{sentences.number((high - low) / 2)}"


@register.filter
def count(value: float | None) -> str:
    """A count to three figures: 940, 58.2 k, 12.4 M."""
    if value is None:
        return "–"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            return f"{value / limit:.3g}{NBSP}{unit}"
    return f"{value:.0f}"


@register.filter
def duration(seconds: float | None) -> str:
    """A length of time: 8 s, 4 min 10 s, 2 h 5 min, 3 d 4 h."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    for size, unit, below, below_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size}{NBSP}{unit}" + (f" {rest}{NBSP}{below_unit}" if rest else "")
    return f"{whole}{NBSP}s"


@register.filter
def percent(share: float) -> str:
    """A share as `percent` of format.js writes it: what is not all is not shown as all, nor a little as nothing."""
    if 0.99 < share < 1:
        return f">{NBSP}99{NBSP}%"
    return f"<{NBSP}1{NBSP}%" if 0 < share < 0.01 else f"{share * 100:.0f}{NBSP}%".replace("-", MINUS)


@register.filter
def ago(moment: datetime | str) -> str:
    """How far away a time is, as `relative` of format.js writes it again and again: just now, 4 minutes ago."""
    at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    seconds = (at - timezone.now()).total_seconds()
    if abs(seconds) < 45:
        return "just now"
    unit, length = next((pair for pair in UNITS if abs(seconds) >= pair[1]), UNITS[-1])
    number = max(1, round(abs(seconds) / length))
    words = f"{number:,} {unit}{'' if number == 1 else 's'}"
    return f"in {words}" if seconds > 0 else f"{words} ago"


@register.filter
def size(value: int) -> str:
    """The size of a file, or of many."""
    return sentences.size(value).replace(" ", NBSP)


@register.filter
def setting(value: Any) -> str:
    """A hyperparameter's value."""
    return sentences.setting(value)


@register.filter
def meaning(row: SpaceRow | None) -> str:
    """What the hyperparameter of a row of the form is."""
    found = described().get(row.algorithm, {}).get(row.name) if row else None
    return f"{'; '.join(filter(None, found.values()))}." if found else ""


@register.simple_tag
def sparkline(values: Sequence[float | None], width: int = 120, height: int = 28) -> SafeString:
    """The values as a line over the whole width; nothing for fewer than one."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return SafeString("")
    if len(known) == 1:
        known = known * 2
    low, high = min(known), max(known)
    points = [
        (width * index / (len(known) - 1), height - 2 - (height - 4) * _share(value, low, high))
        for index, value in enumerate(known)
    ]
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<polyline points="{}"/></svg>',
        width,
        height,
        format_html_join(" ", "{},{}", ((f"{x:.1f}", f"{y:.1f}") for x, y in points)),
    )


def _share(value: float, low: float, high: float) -> float:
    if high == low:
        return 0.5
    if math.isinf(high - low):  # the distance between two numbers may be more than the largest one
        value, low, high = value / 2, low / 2, high / 2
    return (value - low) / (high - low)


@register.simple_tag
def environment_code(agent: Mapping[str, Any]) -> str:
    """Lines of Python that make the environment as the agent saw it."""
    env_id, frame_stack = agent["env_id"], int(agent["hyperparameters"].get("frame_stack", 1))
    return wrapping_of(env_id, frame_stack).code(env_id)


@register.simple_tag
def slots_online() -> SafeString:
    """How many slots are there to train, for the header."""
    online = worker_selectors.slots_online()
    slots = online["cpu"] + online["cuda"]
    names = ", ".join(f"{worker['name']} ({_offer(worker)})" for worker in online["workers"])
    if online["workers"] and not slots:
        return format_html(
            '<span class="slots none" title="{}">no slots: <span class="long">all </span>drained</span>', names
        )
    if not slots:
        return format_html(
            '<span class="slots none" title="{}">no <span class="long">worker </span>slots</span>',
            "No worker is online: queued pods wait. Start one with make run or make worker.",
        )
    return format_html(
        '<span class="slots" title="{}">{} slot{}<span class="long"> online</span></span>',
        names,
        slots,
        "" if slots == 1 else "s",
    )


def _offer(worker: Mapping[str, Any]) -> str:
    return "drained" if worker["drain"] else f"{worker['slots']} {worker['device_kind']}"


@register.simple_tag
def board_color(color: int | None) -> str:
    """The class of an agent's chip; none for agents that never were on the board."""
    return "" if color is None else f"c{color % 12}"


_ESCAPES = (("<", "\\u003C"), (">", "\\u003E"), ("&", "\\u0026"))
"""No text within a script element ends it then."""


@register.filter
def data_script(data: Any, name: str) -> SafeString:
    """`data` for the page's scripts, as Django's json_script has it, but strict JSON and in a quarter of the time."""
    text = strict_json.dumps(data)
    for sign, escaped in _ESCAPES:
        text = text.replace(sign, escaped)
    return format_html('<script id="{}" type="application/json">{}</script>', name, mark_safe(text))  # noqa: S308 - escaped
