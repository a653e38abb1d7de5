"""A search space of one hyperparameter: how it is written, drawn from and moved within."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_serializer, model_validator

from podracer_core.hyperparameters import Value

Kind = Literal["fixed", "choice", "uniform", "loguniform", "int"]
KINDS: tuple[Kind, ...] = ("fixed", "choice", "uniform", "loguniform", "int")

STEP = 0.25
"""The farthest one perturbation moves: a quarter of the range on a linear scale, a factor of e^0.25 on a log one."""

LOG_SHARE = 1 / 8
"""Of a log-uniform range wider than a factor of e^2 so much instead: a decade is crossed in a few moves. Discounts, of
which a range that ends at 1 has no end of decades, keep to the factor."""

SMALLEST = 0.2
"""The least that one moves, of the farthest."""


class SearchSpace(BaseModel):
    """One of {fixed = v}, {choice = [..]}, {uniform|loguniform|int = [low, high]}; a bare value means fixed.

    kind: one of KINDS
    values: the one value, the choices, or (low, high), both ends included
    """

    model_config = ConfigDict(frozen=True)

    kind: Kind
    values: tuple[Value, ...]

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, written: Any) -> Any:
        if isinstance(written, Mapping) and set(written) == {"kind", "values"}:
            written = {written["kind"]: written["values"] if written["kind"] != "fixed" else written["values"][0]}
        if isinstance(written, SearchSpace):
            return {"kind": written.kind, "values": written.values}
        if not isinstance(written, Mapping):
            written = {"fixed": written}
        if len(written) != 1 or next(iter(written)) not in KINDS:
            raise ValueError(
                f"a search space is a value or one of {', '.join(KINDS)}, such as {{loguniform = [1e-4, 1e-2]}}; "
                f"this has {', '.join(map(str, written)) or 'nothing'}"
            )
        kind, content = next(iter(written.items()))
        return {"kind": kind, "values": _values(kind, content)}

    @model_serializer
    def _write(self) -> dict[str, Any]:
        return {self.kind: self.values[0] if self.kind == "fixed" else list(self.values)}

    @classmethod
    @lru_cache(maxsize=1024, typed=True)  # every new agent asks for most of its algorithm's defaults
    def fixed(cls, value: Value) -> Self:
        return cls(kind="fixed", values=(value,))

    @property
    def extremes(self) -> tuple[Value, ...]:
        """Values that between them show whether every value of the space holds: the ends, or all choices."""
        return self.values

    def sample(self, rng: Random) -> Value:
        """A value drawn from the space."""
        return self.at(rng.random())

    def at(self, share: float) -> Value:
        """The value that this share of the space lies below, `share` in [0, 1): even shares are even draws."""
        if self.kind == "fixed":
            return self.values[0]
        if self.kind == "choice":
            return self.values[int(share * len(self.values))]
        if self.kind == "int":
            low, high = int(self.values[0]), int(self.values[1])
            return low + int(share * (high - low + 1))
        bottom, top = self._ends()
        if self.kind == "uniform":
            return _clip(bottom + share * (top - bottom), bottom, top)
        return _clip(math.exp(math.log(bottom) + share * (math.log(top) - math.log(bottom))), bottom, top)

    def perturb(self, value: Value, rng: Random, *, discount: bool = False) -> Value:
        """A value near `value`, inside the space, and different wherever the space has another.

        A step that would leave the space is reflected at its end, so that nothing sticks there. `discount`:
        what moves is 1 - value, on a log scale, since 0.99 and 0.999 are far apart.
        """
        if self.kind == "fixed":
            return self.values[0]
        if self.kind == "choice":
            return self._neighbour(value, rng)
        low, high = self._ends()
        if low == high:
            return self.values[0]
        number = _clip(float(value), low, high)
        if self.kind == "int":
            return self._integer_step(round(number), rng)
        step = rng.choice((-1, 1)) * rng.uniform(SMALLEST, 1.0)
        if discount and high <= 1:
            nearest, farthest = math.log(max(1 - high, 1e-6)), math.log(1 - low)
            moved = 1 - math.exp(_reflect(math.log(max(1 - number, 1e-6)) + step * STEP, nearest, farthest))
        elif self.kind == "loguniform":
            bottom, top = math.log(low), math.log(high)
            moved = math.exp(_reflect(math.log(number) + step * max(STEP, LOG_SHARE * (top - bottom)), bottom, top))
        else:
            moved = _reflect(number + step * STEP * (high - low), low, high)
        return _clip(moved, low, high)

    def _ends(self) -> tuple[float, float]:
        return float(self.values[0]), float(self.values[1])

    def _neighbour(self, value: Value, rng: Random) -> Value:
        """For numbers a choice next to it in size, otherwise any other choice."""
        others = [choice for choice in self.values if choice != value]
        if not others:
            return self.values[0]
        if all(isinstance(choice, int | float) and not isinstance(choice, bool) for choice in (*others, value)):
            below = [choice for choice in others if float(choice) < float(value)]
            above = [choice for choice in others if float(choice) > float(value)]
            others = ([max(below, key=float)] if below else []) + ([min(above, key=float)] if above else [])
        return rng.choice(others)

    def _integer_step(self, value: int, rng: Random) -> int:
        low, high = int(self.values[0]), int(self.values[1])
        step = max(1, round(rng.uniform(SMALLEST, 1.0) * STEP * (high - low))) * rng.choice((-1, 1))
        moved = value + step if low <= value + step <= high else value - step
        return int(_clip(moved, low, high))


def _values(kind: str, content: Any) -> tuple[Any, ...]:
    if kind == "fixed":
        return (_scalar(content),)
    if isinstance(content, str) or not isinstance(content, Sequence):
        raise ValueError(f"{kind} takes a list, got {content!r}")
    if kind == "choice":
        if not content:
            raise ValueError("the list of choices is empty; give at least one value")
        return tuple(_scalar(choice) for choice in content)
    return _range(kind, content)


def _range(kind: str, content: Sequence[Any]) -> tuple[Any, ...]:
    if len(content) != 2:
        raise ValueError(f"{kind} takes [low, high], got {len(content)} values")
    for end in content:
        if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
            raise ValueError(f"{kind} takes finite numbers, got {end!r}")
        if kind == "int" and int(end) != end:
            raise ValueError(f"int takes whole numbers, got {end!r}")
    low, high = content
    if low > high:
        raise ValueError(f"low {low!r} is above high {high!r}")
    if kind == "loguniform" and low <= 0:
        raise ValueError(f"loguniform starts above 0, got {low!r}; use uniform, or a small positive low")
    return (int(low), int(high)) if kind == "int" else (float(low), float(high))


def _scalar(value: Any) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{value!r} is neither a number, a text nor true or false")
    return value


def _clip(number: float, low: float, high: float) -> float:
    return min(max(number, low), high)


def _reflect(number: float, low: float, high: float) -> float:
    """`number` folded back at the end that it crossed, then clipped."""
    if number > high:
        number = 2 * high - number
    elif number < low:
        number = 2 * low - number
    return _clip(number, low, high)
