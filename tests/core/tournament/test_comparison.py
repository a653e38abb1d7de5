"""How groups compare, against numbers worked out by hand and what must hold of any."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podracer_core.tournament import comparison
from podracer_core.tournament.statistics import bootstrap_interval, interquartile_mean

NUMBERS = st.floats(-1e4, 1e4, allow_nan=False, width=32)
GROUPS = st.lists(st.lists(NUMBERS, min_size=1, max_size=12), min_size=1, max_size=5)
few = settings(max_examples=40)


@few
@given(GROUPS)
def test_the_iqm_is_that_of_all_episodes_and_lies_between_the_extremes(returns: list[list[float]]) -> None:
    pooled = np.array([value for part in returns for value in part])
    found = comparison.iqm(comparison.sample(returns))
    slack = 1e-6 * (1 + np.abs(pooled).max())
    assert found.value == pytest.approx(float(interquartile_mean(pooled)), abs=slack)
    assert pooled.min() - slack <= found.low <= found.high <= pooled.max() + slack


def test_of_one_agent_the_interval_is_that_of_the_plain_bootstrap() -> None:
    returns = np.random.default_rng(1).normal(100, 10, size=64)
    found = comparison.iqm(comparison.sample([returns.tolist()]))
    assert (found.low, found.high) == pytest.approx(bootstrap_interval(returns, "iqm"), abs=0.4)


def test_episodes_are_drawn_within_each_agent_so_agents_alike_in_themselves_leave_no_doubt() -> None:
    strong, weak = [500.0] * 20, [10.0] * 20
    found = comparison.iqm(comparison.sample([strong, weak]))
    assert (found.value, found.low, found.high) == pytest.approx((255.0, 255.0, 255.0))
    assert np.all(comparison.sample([strong, weak]).counts.sum(axis=0) == 40)


def test_repetitions_are_drawn_anew_so_those_that_disagree_leave_doubt() -> None:
    strong, weak = [500.0] * 20, [10.0] * 20
    group = comparison.sample([strong, weak], runs=[1, 2])
    found = comparison.iqm(group)
    assert (found.value, found.low, found.high) == pytest.approx((255.0, 10.0, 500.0))
    agreed = comparison.sample([strong, weak], runs=[7, 7])
    assert np.array_equal(agreed.counts, comparison.sample([strong, weak]).counts), "of one alone nothing is drawn"


@few
@given(st.lists(st.tuples(st.integers(0, 3), st.lists(NUMBERS, min_size=1, max_size=12)), min_size=1, max_size=6))
def test_samples_of_repetitions_are_whole_however_unequal_these_are(parts: list[tuple[int, list[float]]]) -> None:
    group = comparison.sample([part for _, part in parts], runs=[run for run, _ in parts], resamples=50)
    assert np.array_equal(group.counts.sum(axis=0), group.drawn)
    assert np.all(group.drawn > 0)
    _, low, high = comparison.profile(group, comparison.thresholds([group]))
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    slack = 1e-6 * (1 + np.abs(group.values).max())
    found = comparison.iqm(group)
    assert group.values[0] - slack <= found.low <= found.high <= group.values[-1] + slack
    assert comparison.probability_of_improvement(group, group).value == pytest.approx(0.5)


def test_large_groups_have_fewer_bootstrap_samples() -> None:
    assert comparison.resamples(12_800) == comparison.resamples(1) == 1000
    assert comparison.resamples(38_400) == 333
    assert comparison.resamples(10**9) == comparison.FEWEST_RESAMPLES


def test_a_profile_by_hand() -> None:
    group = comparison.sample([[1.0, 2.0, 3.0, 4.0]])
    share, low, high = comparison.profile(group, np.array([0.0, 1.0, 2.5, 4.0]))
    assert share.tolist() == [1.0, 0.75, 0.5, 0.0]
    assert (low[0], high[0], low[3], high[3]) == (1.0, 1.0, 0.0, 0.0)
    assert low[2] < 0.5 < high[2]


@few
@given(GROUPS)
def test_a_profile_falls_from_at_most_one_to_none_within_its_band(returns: list[list[float]]) -> None:
    group = comparison.sample(returns)
    share, low, high = comparison.profile(group, comparison.thresholds([group]))
    assert np.all(np.diff(share) <= 0)
    assert share[0] <= 1
    assert share[-1] == 0, "nothing is above the highest"
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


@pytest.mark.parametrize(
    ("first", "second", "probability"),
    [
        ([3.0], [1.0, 2.0], 1.0),
        ([1.0], [2.0], 0.0),
        ([1.0, 2.0], [1.0, 2.0], 0.5),
        ([1.0, 4.0], [2.0, 3.0, 4.0], (0 + 2.5) / 6),
    ],
)
def test_the_probability_of_improvement_by_hand(first: list[float], second: list[float], probability: float) -> None:
    a, b = comparison.sample([first]), comparison.sample([second])
    assert comparison.probability_of_improvement(a, b).value == pytest.approx(probability)


@few
@given(GROUPS, GROUPS)
def test_the_probability_of_improvement_turns_around(one: list[list[float]], other: list[list[float]]) -> None:
    a, b = comparison.sample(one), comparison.sample(other, seed=1)
    there, back = comparison.probability_of_improvement(a, b), comparison.probability_of_improvement(b, a)
    assert there.value + back.value == pytest.approx(1)
    assert there.low + back.high == pytest.approx(1)
    assert 0 <= there.low <= there.high <= 1


def test_the_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(100):
        better = comparison.sample([rng.normal(1, 1, 20).tolist(), rng.normal(1, 1, 20).tolist()], seed=seed)
        worse = comparison.sample([rng.normal(1, 1, 40).tolist()], seed=seed + 1000)
        found = comparison.probability_of_improvement(better, worse)
        covered += found.low <= 0.5 <= found.high
    assert covered >= 86


def test_gaps_are_bridged_and_ends_stay_open() -> None:
    nan = float("nan")
    lines = np.array([[nan, 1, nan, 3, nan], [nan] * 5])
    assert np.array_equal(comparison.bridged(lines), np.array([[nan, 1, 2, 3, nan], [nan] * 5]), equal_nan=True)


@few
@given(st.integers(1, 9).flatmap(lambda bins: st.lists(st.lists(st.none() | NUMBERS, min_size=bins, max_size=bins))))
def test_each_line_is_bridged_by_itself(rows: list[list[float | None]]) -> None:
    lines = np.array(rows, np.float64).reshape(len(rows), -1) if rows else np.empty((0, 5))
    for line, whole in zip(lines, comparison.bridged(lines), strict=True):
        known = np.flatnonzero(~np.isnan(line))
        places = np.arange(len(line))
        expected = np.interp(places, known, line[known], np.nan, np.nan) if len(known) else line
        assert np.allclose(whole, expected, equal_nan=True)


def test_the_mean_is_of_those_under_way_and_its_band_is_about_them() -> None:
    nan = float("nan")
    mean, low, high = comparison.mean_band(np.array([[0.0, 10.0, nan, nan], [2.0, nan, nan, 7.0]]))
    assert mean[:2].tolist() == [1.0, 10.0]
    assert (low[0], high[0]) == (0.0, 2.0)
    assert (low[1], high[1]) == (10.0, 10.0)
    assert np.isnan([mean[2], low[2], high[2]]).all()


@few
@given(st.lists(st.lists(NUMBERS, min_size=4, max_size=4), min_size=1, max_size=9))
def test_the_band_lies_within_the_lines_and_about_the_mean(rows: list[list[float]]) -> None:
    lines = np.array(rows)
    mean, low, high = comparison.mean_band(lines)
    slack = 1e-6 * (1 + np.abs(lines).max())
    assert np.all(lines.min(axis=0) - slack <= low)
    assert np.all(high <= lines.max(axis=0) + slack)
    assert np.all(low <= high)
    assert np.allclose(mean, lines.mean(axis=0))
