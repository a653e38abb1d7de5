"""What differs between two specifications, told by the form's own labels. Pure functions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from podracer_core.search_space import SearchSpace
from webapp.tournaments.form.forms import PATHS, TournamentForm, initial_of
from webapp.tournaments.form.typed import values_text

NOTHING = "none"
TUNED = "the tuned value"
MOST_TOLD = 6


class Difference(NamedTuple):
    """field: the form's, "" for a search space; was, now: as they would be typed"""

    field: str
    label: str
    was: str
    now: str


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """From `was` to `now`, both complete and in JSON form, in the form's order; the name is not counted."""
    return [*_fields(was, now), *_spaces(was, now)]


def told(name: str, found: Sequence[Difference]) -> str:
    """Where a tournament comes from that runs `name` again, in a sentence."""
    changes = [f"{item.label} {item.was} → {item.now}" for item in found[:MOST_TOLD]]
    if len(found) > MOST_TOLD:
        changes.append(f"{len(found) - MOST_TOLD} more changes")
    return f"It runs {name} again, {'with ' + '; '.join(changes) if changes else 'unchanged'}."


def _fields(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    old, new = initial_of(was), initial_of(now)
    for field in PATHS:
        if field != "name" and old[field] != new[field]:
            before, after = (", ".join(v) if isinstance(v, list) else v for v in (old[field], new[field]))
            label = str(TournamentForm.base_fields[field].label or "Algorithms")
            yield Difference(field, label, before or NOTHING, after or NOTHING)


def _spaces(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    old, new = _searched(was), _searched(now)
    for algorithm in (name for name in new if name in old):
        for name in dict.fromkeys((*old[algorithm], *new[algorithm])):
            before, after = (spaces[algorithm].get(name, TUNED) for spaces in (old, new))
            if before != after:
                yield Difference("", f"{name} of {algorithm}", before, after)


def _searched(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Search spaces as text, by algorithm and hyperparameter."""
    return {
        part["name"]: {name: space_text(space) for name, space in part["search_space"].items()}
        for part in spec["algorithms"]
    }


def space_text(space: Any) -> str:
    """A search space in a few words: loguniform 0.001 to 0.004."""
    parsed = SearchSpace.model_validate(space)
    joint = " to " if parsed.kind in ("uniform", "loguniform", "int") else ", "
    return f"{parsed.kind} {joint.join(values_text(value) for value in parsed.values)}"
