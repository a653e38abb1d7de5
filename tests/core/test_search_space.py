"""Search spaces: what is drawn and moved stays inside, moves where it can, and never sticks."""

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from podracer_core.search_space import SearchSpace

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
POSITIVE = st.floats(1e-8, 1e6)
SEEDS = st.integers(0, 2**31)


def ends(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(numbers, min_size=2, max_size=2).map(sorted)


RANGES = st.one_of(
    ends(NUMBERS).map(lambda pair: {"uniform": pair}),
    ends(POSITIVE).map(lambda pair: {"loguniform": pair}),
    ends(st.integers(-1000, 1000)).map(lambda pair: {"int": pair}),
)
CHOICES = st.lists(st.one_of(NUMBERS, st.booleans(), st.text(max_size=5)), min_size=1, max_size=5).map(
    lambda values: {"choice": values}
)
SPACES = st.one_of(RANGES, CHOICES, NUMBERS.map(lambda value: {"fixed": value}))


def parsed(written: Any) -> SearchSpace:
    return SearchSpace.model_validate(written)


def inside(space: SearchSpace, value: Any) -> bool:
    if space.kind in ("fixed", "choice"):
        return value in space.values
    low, high = space.values
    return bool(float(low) <= value <= float(high)) and (space.kind != "int" or isinstance(value, int))


@given(SPACES, SEEDS)
def test_what_is_drawn_is_inside(written: Any, seed: int) -> None:
    space = parsed(written)
    assert inside(space, space.sample(Random(seed)))


@given(SPACES, SEEDS, st.booleans())
def test_what_is_moved_stays_inside(written: Any, seed: int, discount: bool) -> None:
    space, rng = parsed(written), Random(seed)
    value = space.sample(rng)
    for _ in range(20):
        value = space.perturb(value, rng, discount=discount)
        assert inside(space, value)


@given(st.floats(0, 1), st.floats(0, 1), SEEDS)
def test_a_discount_stays_inside_its_range(one: float, other: float, seed: int) -> None:
    space, rng = parsed({"uniform": sorted([one, other])}), Random(seed)
    value = space.sample(rng)
    for _ in range(20):
        value = space.perturb(value, rng, discount=True)
        assert inside(space, value)


@given(st.floats(0.5, 0.99), SEEDS)
def test_a_discount_moves_little_by_little_though_its_range_ends_at_one(low: float, seed: int) -> None:
    space, rng = parsed({"uniform": [low, 1.0]}), Random(seed)
    value = float(space.sample(rng))
    moved = float(space.perturb(value, rng, discount=True))
    if value < 1 - 1e-5:
        assert abs(math.log((1 - moved) / (1 - value))) <= 0.25 + 1e-6


@given(RANGES, SEEDS)
def test_a_move_changes_the_value_wherever_the_space_has_another(written: Any, seed: int) -> None:
    space, rng = parsed(written), Random(seed)
    value = space.sample(rng)
    low, high = (float(end) for end in space.values)
    wide = high > low and (space.kind == "int" or (high - low) > 1e-6 * max(abs(low), abs(high)))
    assert (space.perturb(value, rng) != value) or not wide


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6, unique=True), SEEDS)
def test_a_move_among_numbers_goes_to_a_neighbour(choices: list[int], seed: int) -> None:
    space, rng = parsed({"choice": choices}), Random(seed)
    value = space.sample(rng)
    moved = space.perturb(value, rng)
    order = sorted(choices)
    assert abs(order.index(int(moved)) - order.index(int(value))) == 1


@given(ends(st.floats(0.001, 1000)).filter(lambda pair: pair[1] > 2 * pair[0]), SEEDS)
def test_nothing_sticks_at_an_end(pair: list[float], seed: int) -> None:
    space, rng = parsed({"loguniform": pair}), Random(seed)
    for end in pair:
        assert inside(space, space.perturb(end, rng))
        assert not math.isclose(float(space.perturb(end, rng)), end, rel_tol=0.01)


@given(st.floats(1e-6, 1.0), st.floats(0.1, 6.0), SEEDS)
def test_a_move_on_a_log_scale_is_wide_where_the_range_is(low: float, decades: float, seed: int) -> None:
    high, rng = low * 10**decades, Random(seed)
    space = parsed({"loguniform": [low, high]})
    value = float(space.sample(rng))
    moved = abs(math.log(float(space.perturb(value, rng)) / value))
    farthest = max(0.25, math.log(high / low) / 8)
    assert moved <= farthest + 1e-6
    if min(value / low, high / value) > math.exp(farthest):  # no end to be reflected at
        assert moved >= farthest / 5 - 1e-6


@given(ends(st.integers(0, 20)), SEEDS)
def test_repeated_moves_reach_every_whole_number(pair: list[int], seed: int) -> None:
    space, rng = parsed({"int": pair}), Random(seed)
    value, seen = space.sample(rng), set()
    for _ in range(3000):
        value = space.perturb(value, rng)
        seen.add(value)
    assert seen >= set(range(pair[0], pair[1] + 1))


@given(SPACES, NUMBERS, SEEDS)
def test_a_value_from_outside_is_brought_inside(written: Any, foreign: float, seed: int) -> None:
    """An agent may descend from one that another space has made."""
    space = parsed(written)
    if space.kind != "choice" or all(not isinstance(choice, str) for choice in space.values):
        assert inside(space, space.perturb(foreign, Random(seed)))


@given(SPACES)
def test_a_space_is_read_back_as_it_was_written(written: Any) -> None:
    space = parsed(written)
    assert parsed(space.model_dump()) == space
    assert SearchSpace.model_validate_json(space.model_dump_json()) == space


@given(SPACES, SEEDS)
def test_the_same_seed_draws_the_same(written: Any, seed: int) -> None:
    space = parsed(written)
    assert space.sample(Random(seed)) == space.sample(Random(seed))


def test_a_bare_value_is_fixed() -> None:
    assert parsed(3) == parsed({"fixed": 3}) == SearchSpace.fixed(3)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"choice": []}, "empty"),
        ({"choice": "ab"}, "list"),
        ({"uniform": [2, 1]}, "above"),
        ({"uniform": [1]}, "2 values|1 values|low, high"),
        ({"uniform": [1, float("nan")]}, "finite"),
        ({"uniform": [1, float("inf")]}, "finite"),
        ({"uniform": [True, 2]}, "finite"),
        ({"loguniform": [0, 1]}, "above 0"),
        ({"loguniform": [-1, 1]}, "above 0"),
        ({"int": [1, 2.5]}, "whole"),
        ({"uniform": [0, 1], "int": [0, 1]}, "one of"),
        ({}, "nothing"),
        ({"gaussian": [0, 1]}, "loguniform"),
        (None, "None"),
        ([1, 2], "neither"),
        (float("nan"), "finite"),
        ({"fixed": {"a": 1}}, "neither"),
    ],
)
def test_what_is_no_space_is_refused_with_a_sentence(written: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        parsed(written)
