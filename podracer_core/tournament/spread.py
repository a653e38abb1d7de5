"""Points that lie evenly over a search space, however many are asked for.

Independent draws leave gaps and fall together, which matters most for the few first agents. These are a Latin hypercube
(McKay et al. 1979) that can be gone on with: van der Corput's sequence, scrambled for each axis by itself (Owen 1995).
Spread so, points come to good hyperparameters sooner than random search (Bousquet et al. 2017, arXiv 1706.03200).
"""

from hashlib import blake2b
from random import Random

LEVELS = 10
"""Halvings that are kept even; within the last of them a point lies anywhere."""


def coordinate(series: str, number: int) -> float:
    """Of the point number `number`, 0 or more, on the axis `series`; in [0, 1).

    Of the first 2^k points exactly one lies in each 2^k-th of the axis, for any k up to LEVELS.
    """
    place, prefix = 0, 1
    for level in range(LEVELS):
        digit = number >> level & 1
        place = place << 1 | digit ^ _coin(series, prefix)
        prefix = prefix << 1 | digit
    return (place + Random(f"{series}/{number}").random()) / (1 << LEVELS)


def _coin(series: str, prefix: int) -> int:
    """Whether the halves that begin with these digits change places."""
    return blake2b(f"{series}/{prefix}".encode(), digest_size=1).digest()[0] & 1
