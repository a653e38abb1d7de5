"""Numbers as the page writes them."""

import math


def number(value: float | None) -> str:
    """Three figures where that is enough; "never" for infinity, a dash for nothing."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "never"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def factor(ratio: float | None) -> str:
    """How many times; a peer that never arrives is beaten without a number."""
    if ratio is None:
        return "–"
    return "never reached by" if math.isinf(ratio) else f"{ratio:.1f} x"
