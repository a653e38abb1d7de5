"""Plain words: what pydantic found wrong with a value, and places in an order."""

from collections.abc import Callable
from typing import Any

_SENTENCES: dict[str, Callable[[dict[str, Any]], str]] = {
    "greater_than_equal": lambda context: f"must be at least {context['ge']:,.10g}",
    "greater_than": lambda context: f"must be above {context['gt']:,.10g}",
    "less_than_equal": lambda context: f"must be at most {context['le']:,.10g}",
    "less_than": lambda context: f"must be below {context['lt']:,.10g}",
    "finite_number": lambda _: "must be a finite number",
    "int_type": lambda _: "must be a whole number",
    "int_parsing": lambda _: "must be a whole number",
    "int_parsing_size": lambda _: "is too large a number",
    "int_from_float": lambda _: "must be a whole number",
    "float_type": lambda _: "must be a number",
    "float_parsing": lambda _: "must be a number",
    "bool_type": lambda _: "must be true or false",
    "bool_parsing": lambda _: "must be true or false",
    "string_type": lambda _: "must be a text",
    "string_too_long": lambda context: f"must have at most {context['max_length']} characters",
    "string_too_short": lambda _: "must not be empty",
    "literal_error": lambda context: f"must be {context['expected']}",
    "model_type": lambda _: "must be a table of fields",
    "dict_type": lambda _: "must be a table of fields",
    "tuple_type": lambda _: "must be a list",
    "too_short": lambda context: f"must have at least {context['min_length']} entry",
    "too_long": lambda context: f"must have at most {context['max_length']} entries",
    "missing": lambda _: "is required",
}

MAX_SHOWN = 60
"""Characters of a bad value that are repeated to whoever gave it."""


def sentence(detail: Any) -> str:
    """What one entry of `ValidationError.errors()` says, with the bad value where it helps."""
    context = detail.get("ctx", {})
    if detail["type"] == "value_error":
        return str(detail["msg"]).removeprefix("Value error, ")
    say = _SENTENCES.get(detail["type"])
    text = say(context) if say else str(detail["msg"])
    value = detail.get("input")
    if isinstance(value, bool | int | float | str) and value != "":
        shown = repr(value)
        text += f", got {shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + '…'}"
    return text


def ordinal(rank: int) -> str:
    """1st, 2nd, 3rd, 4th ..."""
    suffix = "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{suffix}"
