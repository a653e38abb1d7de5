"""Names of agents: four signs that can be said and told apart."""

from collections.abc import Container
from random import Random

LETTERS = "abcdefghjkmnpqrstuvwxyz"
DIGITS = "23456789"


def agent_name(key: str, index: int, taken: Container[str]) -> str:
    """The name of agent number `index` of the tournament `key`, another than those `taken`."""
    rng = Random(f"{key}/{index}")
    for length in (4, 4, 4, 4, 5, 6, 7, 8):
        name = rng.choice(LETTERS) + "".join(rng.choices(LETTERS + DIGITS, k=length - 1))
        if name not in taken:
            return name
    return f"n{index}"
