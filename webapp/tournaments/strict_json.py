"""JSON as the standard has it: NaN and infinities are null on the way out and refused on the way in."""

import json
import math
from typing import Any


def dumps(data: Any) -> str:
    """`data` as JSON text. Raises TypeError for what JSON does not have, such as dates."""
    try:
        return _dump(data)
    except ValueError:
        return _dump(_finite(data))


def loads(text: bytes | str) -> Any:
    """What a JSON text says. Raises ValueError, with a sentence, also for NaN, Infinity and too deep nesting."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _dump(data: Any) -> str:
    return json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON has")
