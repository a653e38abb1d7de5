"""What all pods are together: numbers worked by hand, and properties."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.tournaments.test_population_curves import agent_curve
from webapp.tournaments.curves import statistics as curve_statistics


def test_a_single_pod_is_its_own_mean_and_has_no_interval() -> None:
    columns = curve_statistics.group([agent_curve([1.0, 3.0, 2.0])], "steps", None, None, 5)
    assert columns["x"] == [10.0, 15.0, 20.0, 25.0, 30.0]
    assert columns["mean"] == columns["iqm"] == [1.0, 2.0, 3.0, 2.5, 2.0]
    assert columns["best"] == [1.0, 1.0, 3.0, 3.0, 3.0]
    assert columns["mean_low"] == [None] * 5
    assert columns["pods"] == [1] * 5


def test_the_mean_has_a_t_interval_and_the_middle_its_quartiles() -> None:
    pods = [agent_curve([value] * 3, number) for number, value in enumerate([0.0, 1.0, 2.0, 3.0, 100.0])]
    columns = curve_statistics.group(pods, "steps", 15.0, 25.0, 2)
    assert columns["x"] == [15.0, 25.0]
    assert columns["mean"] == [21.2, 21.2]
    # Standard deviation 44.0647 of five: t(4) = 2.776 times 44.0647 / sqrt(5).
    assert columns["mean_high"][0] - 21.2 == pytest.approx(2.776 * 44.0647 / math.sqrt(5), rel=1e-4)
    assert columns["iqm"] == [2.0, 2.0]
    assert (columns["lower_quartile"][0], columns["upper_quartile"][0]) == (1.0, 3.0)
    assert (columns["lowest"], columns["highest"]) == ([0.0, 0.0], [100.0, 100.0])


def test_a_pod_counts_only_where_it_is_under_way() -> None:
    founder, heir = agent_curve([1.0, 1.0], 1), agent_curve([5.0, 5.0], 2, base=10)
    columns = curve_statistics.group([founder, heir], "steps", 10.0, 30.0, 3)
    assert (columns["pods"], columns["mean"]) == ([1, 2, 1], [1.0, 3.0, 5.0])
    assert (columns["lowest"], columns["highest"]) == ([1.0, 1.0, 5.0], [1.0, 5.0, 5.0])


def test_where_nothing_is_known_there_is_no_row() -> None:
    assert curve_statistics.group([agent_curve([math.nan])], "time", None, None, 10)["x"] == []
    assert curve_statistics.group([], "steps", 0.0, 1.0, 10)["best"] == []
    assert curve_statistics.group([agent_curve([1.0])], "steps", 0.0, 5.0, 10)["x"] == []


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30), min_size=1, max_size=12))
def test_middle_and_best_lie_where_they_must(returns: list[list[float]]) -> None:
    pods = [agent_curve(values, number) for number, values in enumerate(returns)]
    columns = curve_statistics.group(pods, "steps", None, None, 40)
    highest = max(map(max, returns))
    assert columns["best"][-1] == highest
    assert all(first <= second for first, second in pairwise(columns["best"]))
    for low, middle, high, mean in zip(
        columns["lower_quartile"], columns["iqm"], columns["upper_quartile"], columns["mean"], strict=True
    ):
        if mean is not None:
            assert low - 1e-6 <= high + 1e-6
            assert min(map(min, returns)) - 1e-6 <= middle <= highest + 1e-6
            assert min(map(min, returns)) - 1e-6 <= mean <= highest + 1e-6
