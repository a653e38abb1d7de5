"""Scores and how sure they are, against numbers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.tournament.statistics import (
    bootstrap_interval,
    interquartile_mean,
    probability_better,
    summarise,
)

RETURNS = st.lists(st.floats(-1e4, 1e4, allow_nan=False), min_size=2, max_size=50)


@pytest.mark.parametrize(
    ("values", "iqm"),
    [
        ([1, 2, 3, 4], 2.5),
        ([0, 0, 0, 100], 0.0),
        ([1, 2, 3, 4, 5, 6, 7, 8], 4.5),
        # 5 episodes: the middle 2.5 are a quarter... 0.75 of the 2nd, the 3rd, 0.75 of the 4th
        ([0, 1, 2, 5, 9], (0.75 * 1 + 2 + 0.75 * 5) / 2.5),
        ([7], 7.0),
    ],
)
def test_the_interquartile_mean_by_hand(values: list[float], iqm: float) -> None:
    assert float(interquartile_mean(np.array(values, dtype=float))) == pytest.approx(iqm)


@given(RETURNS)
def test_interval_holds_the_mean_and_the_scores_stay_between_the_extremes(returns: list[float]) -> None:
    found = summarise(returns, [1] * len(returns))
    slack = 1e-6 * (1 + max(map(abs, returns)))
    assert found.score == found.mean == pytest.approx(float(np.mean(returns)))
    assert min(returns) - slack <= found.score_low <= found.score_high <= max(returns) + slack
    assert min(returns) - slack <= found.iqm <= max(returns) + slack
    assert found == summarise(returns, [1] * len(returns))


@given(RETURNS)
def test_the_lower_bound_is_the_intervals_low_end(returns: list[float]) -> None:
    found = summarise(returns, [1] * len(returns), "lower_bound")
    assert found.score == found.score_low <= found.mean + 1e-6 * (1 + abs(found.mean))


@pytest.mark.parametrize("returns", [[], [1.0, math.nan], [math.inf, 1.0]])
def test_what_is_no_number_has_no_score(returns: list[float]) -> None:
    found = summarise(returns, [])
    assert math.isnan(found.score)
    assert found.episodes == len(returns)


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        low, high = bootstrap_interval(rng.normal(10, 3, size=32), seed=seed)
        covered += low <= 10 <= high
    assert 0.88 <= covered / 200 <= 0.99


@given(RETURNS, RETURNS)
def test_how_sure_an_order_is_goes_from_0_to_1_and_turns_around(one: list[float], other: list[float]) -> None:
    there, back = probability_better(one, other), probability_better(other, one)
    assert 0 <= there <= 1
    assert there + back == pytest.approx(1, abs=0.12)


def test_equal_returns_are_as_likely_and_distant_ones_certain() -> None:
    assert probability_better([5.0] * 10, [5.0] * 10) == 0.5
    assert probability_better([9.0, 10.0], [1.0, 2.0]) == 1.0
