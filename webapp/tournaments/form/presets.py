"""Tournaments to start with one click, as a person would write them down."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Preset:
    """`spec` holds what differs from the environment's defaults."""

    slug: str
    name: str
    about: str
    spec: dict[str, Any] = field(default_factory=dict)


PRESETS: tuple[Preset, ...] = (
    Preset(
        "cartpole-sprint",
        "CartPole sprint",
        "Balance a pole. Solved within half a minute on two cores.",
        {"env_id": "CartPole-v1"},
    ),
    Preset(
        "pendulum-swing-up",
        "Pendulum swing-up",
        "Continuous torque. About a minute on two cores.",
        {"env_id": "Pendulum-v1"},
    ),
    Preset(
        "acrobot",
        "Acrobot",
        "Swing two links over the line. A few minutes.",
        {"env_id": "Acrobot-v1"},
    ),
    Preset(
        "mountain-car-hunt",
        "Mountain car hunt",
        "A reward that is seldom seen: many fresh starts, a wide search.",
        {
            "env_id": "MountainCarContinuous-v0",
            "generator": {"strategies": {"fresh": 0.5, "exploit": 0.5}},
        },
    ),
)


def preset_find(slug: str) -> Preset | None:
    """The preset with this slug, or None."""
    return next((preset for preset in PRESETS if preset.slug == slug), None)
