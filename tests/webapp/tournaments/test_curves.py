"""Curves as columns: joined along a line of descent, and thinned without losing an extreme."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from webapp.tournaments.curves import curves

VALUES = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6, allow_nan=False)), min_size=1, max_size=400)


def curve(values: list[Any], **columns: list[Any]) -> curves.Curve:
    steps = [(index + 1) * 10 for index in range(len(values))]
    return {"env_steps": steps, "seconds": [step / 10 for step in steps], "episodic_return": values, **columns}


@given(VALUES, st.integers(4, 100))
def test_thinning_keeps_the_ends_the_order_and_every_extreme(values: list[Any], points: int) -> None:
    whole = curve(values)
    thin = curves.thinned(whole, points)
    rows = list(zip(*thin.values(), strict=True))
    assert set(rows) <= set(zip(*whole.values(), strict=True))
    assert thin["env_steps"] == sorted(set(thin["env_steps"]))
    assert (thin["env_steps"][0], thin["env_steps"][-1]) == (whole["env_steps"][0], whole["env_steps"][-1])
    present = [value for value in values if value is not None]
    if present:
        kept = [value for value in thin["episodic_return"] if value is not None]
        assert (min(kept), max(kept)) == (min(present), max(present))
    assert len(thin["env_steps"]) <= points + 2


def test_every_column_keeps_its_own_extremes() -> None:
    spike = [0.0] * 1000
    spike[437] = 99.0
    thin = curves.thinned(curve([1.0] * 1000, entropy=spike), 50)
    assert 99.0 in thin["entropy"]
    assert len({len(column) for column in thin.values()}) == 1


def test_a_short_curve_is_left_as_it_is() -> None:
    whole = curve([1.0, None, 3.0])
    assert curves.thinned(whole, 3) == whole


@given(st.lists(st.integers(0, 5), min_size=0, max_size=5))
def test_a_joined_line_counts_on_and_has_every_point(lengths: list[int]) -> None:
    whole = curves.joined([curve([float(length)] * length) for length in lengths])
    assert len(whole["env_steps"]) == sum(lengths)
    assert whole["env_steps"] == sorted(set(whole["env_steps"]))
    assert whole["seconds"] == sorted(set(whole["seconds"]))
    assert whole["env_steps"][-1:] == ([sum(lengths) * 10] if sum(lengths) else [])


def test_a_column_that_a_part_of_the_line_lacks_is_null_there() -> None:
    whole = curves.joined([curve([1.0]), curve([2.0], entropy=[0.5])])
    assert whole == {
        "env_steps": [10, 20],
        "seconds": [1.0, 2.0],
        "episodic_return": [1.0, 2.0],
        "entropy": [None, 0.5],
    }
