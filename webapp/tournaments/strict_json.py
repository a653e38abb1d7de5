"""JSON as the standard has it: NaN and infinities are null on the way out and refused on the way in."""

import json
from typing import Any

from pydantic_core import to_json


def dumps(data: Any) -> str:
    """`data` as JSON text. Raises ValueError for what JSON cannot say; a date is said as ISO 8601.

    Python's own way takes four times as long, and an answer may have millions of signs.
    """
    return to_json(data, inf_nan_mode="null").decode()


def loads(text: bytes | str) -> Any:
    """What a JSON text says. Raises ValueError, with a sentence, also for NaN, Infinity and too deep nesting."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON has")
