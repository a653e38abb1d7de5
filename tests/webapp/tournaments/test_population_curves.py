"""All curves of a tournament: windows on them that lose no extreme, and a number of points that is kept to."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.tournaments import making
from webapp.tournaments.curves import population as population_curves
from webapp.tournaments.curves import selectors as curve_selectors
from webapp.tournaments.curves import window as curve_window
from webapp.tournaments.curves.population import AgentCurve
from webapp.tournaments.curves.window import FEWEST_POINTS
from webapp.tournaments.models import Agent

RETURNS = st.lists(st.one_of(st.just(math.nan), st.floats(-1e6, 1e6)), min_size=1, max_size=300)


def agent_curve(returns: list[float], agent_id: int = 1, *, favoured: bool = False, base: int = 0) -> AgentCurve:
    """A point every 10 env steps, and every second."""
    points = np.array(
        [(10 * (place + 1), place + 1.0, value) for place, value in enumerate(returns)], population_curves.POINT
    )
    return AgentCurve(agent_id, f"a{agent_id}", 2, base, 5.0, 10 * len(returns), favoured, points.tobytes())


def known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


@given(RETURNS, st.integers(2, 60), st.floats(-0.2, 1.2), st.floats(0.0, 1.0))
def test_every_extreme_within_the_window_survives(
    returns: list[float], points: int, start: float, width: float
) -> None:
    low = start * 10 * len(returns)
    high = low + width * 10 * len(returns)
    whole = agent_curve(returns)
    inside = [value for x, value in zip(whole.x("steps"), returns, strict=True) if low <= x <= high]
    found = curve_window.window([whole], "steps", low, high, points).get("1")
    if inside:
        assert found is not None
        drawn = [v for x, v in zip(found["env_steps"], found["episodic_return"], strict=True) if low <= x <= high]
        present = [value for value in inside if not math.isnan(value)]
        if present:
            assert (min(present), max(present)) == (min(known(drawn)), max(known(drawn)))
        assert len(known(drawn)) <= max(points, FEWEST_POINTS) + 2
    if found:
        assert set(zip(found["env_steps"], found["seconds"], strict=True)) <= {
            (10 * (place + 1), place + 1.0) for place in range(len(returns))
        }
        assert found["env_steps"] == sorted(set(found["env_steps"]))


@given(RETURNS)
def test_an_unknown_value_between_two_known_ones_stays_a_gap(returns: list[float]) -> None:
    found = curve_window.window([agent_curve(returns)], "steps", -math.inf, math.inf, 8)["1"]
    drawn = dict(zip(found["env_steps"], found["episodic_return"], strict=True))
    steps = list(drawn)
    for left, right in pairwise(steps):
        between = returns[left // 10 : right // 10 - 1]
        if drawn[left] is not None and drawn[right] is not None:
            assert not any(math.isnan(value) for value in between)


@given(st.lists(st.integers(1, 120), min_size=1, max_size=40), st.integers(10, 2000))
def test_all_lines_together_keep_to_the_number_of_points(lengths: list[int], points: int) -> None:
    curves = [
        agent_curve([float(place % 7) for place in range(length)], agent_id, favoured=agent_id % 3 == 0)
        for agent_id, length in enumerate(lengths)
    ]
    found = curve_window.window(curves, "steps", -math.inf, math.inf, points)
    assert len(found) == len(curves)
    # Ends of each line may come on top, and no line gets fewer than FEWEST_POINTS.
    assert sum(len(curve["env_steps"]) for curve in found.values()) <= points + (FEWEST_POINTS + 4) * len(curves)
    if sum(lengths) <= points // 2:
        assert [len(curve["env_steps"]) for curve in found.values()] == lengths


def test_a_neighbour_outside_does_not_hide_what_is_inside() -> None:
    returns = [99.0] + [float(place % 3) for place in range(100)]
    returns[5] = 9.0
    drawn = curve_window.window([agent_curve(returns)], "steps", 20.0, 1010.0, 8)["1"]["episodic_return"]
    assert 9.0 in drawn


def test_a_window_between_two_points_shows_the_line_that_crosses_it() -> None:
    found = curve_window.window([agent_curve([1.0, 2.0, 3.0])], "steps", 12.0, 18.0, 100)["1"]
    assert found["env_steps"] == [10, 20]
    assert curve_window.window([agent_curve([1.0, 2.0])], "steps", 21.0, 30.0, 100) == {}


def test_x_counts_ancestors_the_start_and_the_generation() -> None:
    curve = agent_curve([1.0, 2.0], base=1000)
    assert curve.x("steps").tolist() == [1010.0, 1020.0]
    assert curve.x("time").tolist() == [6.0, 7.0]
    assert curve.x("depth").tolist() == [2.5, 3.0]


@pytest.mark.django_db
def test_points_come_from_the_database_as_they_were_reported() -> None:
    tournament = making.tournament(pool={"size": 1}, round={"env_steps": 1000})
    claimed = making.claim()
    making.progress(claimed, making.point(10, 1.5), making.point(20, float("nan")), making.point(30, -7.25))
    Agent.objects.filter(pk=claimed.agent_id).update(base_env_steps=500)
    (curve,) = curve_selectors.tournament_curves(tournament.pk).values()
    assert (curve["env_steps"], curve["seconds"]) == ([10, 20, 30], [0.01, 0.02, 0.03])
    assert curve["episodic_return"] == [1.5, None, -7.25]
    assert (curve["base_env_steps"], curve["depth"], curve["round_env_steps"]) == (500, 0, 1000)
    assert curve["start_seconds"] >= 0
    assert curve_selectors.tournament_curves(tournament.pk, axis="steps", low=525, high=600) == {
        str(claimed.agent_id): curve
        | {"env_steps": [20, 30], "seconds": [0.02, 0.03], "episodic_return": [None, -7.25]}
    }
