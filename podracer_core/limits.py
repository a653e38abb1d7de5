"""Bounds that more than one part keeps to."""

MOST_EPISODE_STEPS = 10_000
"""An evaluation's episode that nothing else ends is cut here, its return so far counted."""
