"""The environments that a tournament can be in, as cards by family: picture, spaces, limits, best-known scores."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.templatetags.static import static

from podracer_core.envs import catalogue, known
from podracer_core.envs.catalogue import CatalogueEntry
from podracer_core.errors import EnvError

PICTURES = "img/environments"
FAMILIES = {
    "classic control": "Classic control",
    "box2d": "Box2D",
    "locomotion": "MuJoCo",
    "atari": "Atari",
    "allowed": "From this installation's packages",
    "used": "Used here before",
}
"""The catalogue's kinds, and what else there may be, in the order in which they are shown."""


@dataclass(frozen=True)
class Card:
    """picture: an address, "" where there is none; entry: None where only starting it would tell what it is"""

    id: str
    family: str
    picture: str
    entry: CatalogueEntry | None
    best: float | None

    @property
    def initials(self) -> str:
        """What stands in place of a picture."""
        return initials(self.id)

    @property
    def words(self) -> list[str]:
        """The id in parts between which a line may break."""
        return re.split(r"(?<=[a-z/])(?=[A-Z])", self.id)

    @property
    def spaces(self) -> str:
        if self.entry is None:
            return "Gymnasium's own" if self.family == "used" else "registered by a package"
        seen, acted = spaces_text(self.entry)
        return f"{seen} → {acted}"


def families(
    best: Mapping[str, float], allowed: Sequence[str] = (), used: Sequence[str] = ()
) -> list[tuple[str, str, list[Card]]]:
    """(slug, title, cards) of each family of which something can run here.

    best: scores by environment; allowed: ids that the operator's packages register; used: ids of tournaments
    """
    entries = {entry.id: entry for entry in catalogue.catalogue_list() if _runs(entry.id)}
    others = {env_id: "allowed" for env_id in allowed if env_id not in entries}
    others.update({env_id: "used" for env_id in used if env_id not in entries and env_id not in others})
    cards = [Card(env_id, entry.kind, picture(env_id), entry, best.get(env_id)) for env_id, entry in entries.items()]
    cards += [Card(env_id, family, picture(env_id), None, best.get(env_id)) for env_id, family in others.items()]
    return [(kind, title, of_kind) for kind, title in FAMILIES.items() if (of_kind := list(_of(cards, kind)))]


def family_of(env_id: str, found: Sequence[tuple[str, str, list[Card]]]) -> str:
    """The slug of the family that an environment's card is in, "" where it has none."""
    return next((slug for slug, _, cards in found if any(card.id == env_id for card in cards)), "")


def chosen(env_id: str) -> tuple[Card, str]:
    """The card of what the form names, and a sentence about it where the catalogue knows one."""
    entry = catalogue.CATALOGUE.get(env_id)
    return Card(env_id, "", picture(env_id), entry, None), about(entry) if entry else ""


def _of(cards: Iterable[Card], family: str) -> Iterable[Card]:
    return (card for card in cards if card.family == family)


def _runs(env_id: str) -> bool:
    try:
        known.refuse_missing_packages(env_id)
    except EnvError:
        return False
    return True


def picture(env_id: str) -> str:
    """The address of an environment's picture, "" where there is none. All versions share one."""
    namespace, _, name = env_id.rpartition("/")
    stem = re.sub(r"-v\d+$", "", name)
    if namespace not in ("", "ALE") or stem not in _drawn():
        return ""
    return static(f"{PICTURES}/{stem}.webp")


@cache
def _drawn() -> frozenset[str]:
    """What `deploy/environment_pictures.py` has drawn."""
    return frozenset(file.stem for file in (Path(settings.BASE_DIR) / "static" / PICTURES).glob("*.webp"))


def initials(env_id: str) -> str:
    """Up to three letters that stand in place of a picture: walks/MyWalk-v0 -> MW."""
    name = re.sub(r"-v\d+$", "", env_id.rpartition("/")[2])
    capitals = re.findall(r"[A-Z]", name)
    return "".join(capitals[:3]) if len(capitals) > 1 else name[:2].capitalize()


def spaces_text(entry: CatalogueEntry) -> tuple[str, str]:
    """What is observed and what is done, in words."""
    image = entry.observation_space.image
    if image:
        seen = f"images of {image.height} x {image.width}"
    else:
        seen = f"{entry.observation_dim} number{'s' if entry.observation_dim != 1 else ''}"
    if entry.action_kind == "multidiscrete":
        count = len(entry.action_space.choices)
        return seen, f"{count} choice{'s' if count != 1 else ''} at once"
    continuous = "continuous " if entry.action_kind == "continuous" else ""
    return seen, f"{entry.action_dim} {continuous}action{'s' if entry.action_dim != 1 else ''}"


def about(entry: CatalogueEntry) -> str:
    """An environment in a sentence."""
    seen, acted = spaces_text(entry)
    inputs = f"{seen} pixels in" if entry.observation_space.image else f"{seen} in"
    limit = f"at most {entry.max_episode_steps:,} steps" if entry.max_episode_steps else "no time limit"
    solved = f"solved at {entry.solved_score:g}" if entry.solved_score is not None else "no score counts as solved"
    return f"{inputs}, {acted}, {limit}, {solved}."
