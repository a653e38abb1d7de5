"""Numbers as the page writes them."""

import math


def number(value: float | None, at_least: bool = False) -> str:
    """Three figures where that is enough; a dash for nothing."""
    if value is None or math.isnan(value):
        return "–"
    decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    text = f"{value:,.{decimals}f}"
    return f"> {text}" if at_least else text


def factor(ratio: float | None, at_least: bool = False) -> str:
    """How many times as fast."""
    return "–" if ratio is None else f"{'> ' if at_least else ''}{ratio:.1f} x"
