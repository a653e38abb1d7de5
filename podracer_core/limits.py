"""Bounds that more than one part keeps to."""

import os

MOST_EPISODE_STEPS = 10_000
"""An evaluation's episode that nothing else ends is cut here, its return so far counted."""


def most_threads() -> int:
    """CPU threads that a pod may have here: more can only slow it, and very many take the machine down."""
    return max(64, 4 * (os.cpu_count() or 1))
