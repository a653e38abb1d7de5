"""Fresh agents of asynchronous tournaments lie evenly over their search spaces, from the first few on."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.generator import generate
from podracer_core.tournament.spread import LEVELS, coordinate
from tests.core.tournament.making import made

SERIES = st.text(max_size=20)


@given(SERIES, st.integers(0, LEVELS))
def test_of_the_first_points_one_lies_in_each_part_of_an_axis(series: str, halvings: int) -> None:
    parts = 2**halvings
    assert sorted(int(parts * coordinate(series, number)) for number in range(parts)) == list(range(parts))


@given(SERIES, st.integers(0, 10**9))
def test_a_coordinate_lies_on_its_axis_and_is_the_same_again(series: str, number: int) -> None:
    assert 0 <= coordinate(series, number) < 1
    assert coordinate(series, number) == coordinate(series, number)


def test_axes_are_spread_independently() -> None:
    """Neither together nor against each other: each pair of quarters is hit about equally often over many series."""
    pairs = Counter(
        (int(4 * coordinate(f"{seed}/one", number)), int(4 * coordinate(f"{seed}/other", number)))
        for seed in range(200)
        for number in range(4)
    )
    assert len(pairs) == 16
    assert all(25 < count < 80 for count in pairs.values())


@given(st.integers(0, 10**6))
def test_the_first_agent_is_the_middle_and_the_next_two_lie_on_either_side(seed: int) -> None:
    spec = made(
        {"fresh": 1}, {"learning_rate": {"loguniform": [1e-4, 1e-2]}, "ent_coef": {"uniform": [0, 0.02]}}, seed=seed
    )
    values = [generate(spec, (), index).hyperparameters for index in range(5)]
    assert abs(float(values[0]["learning_rate"]) - 1e-3) < 1e-12
    assert values[0]["ent_coef"] == 0.01
    for name, middle in (("learning_rate", 1e-3), ("ent_coef", 0.01)):
        assert sum(float(one[name]) < middle for one in values[1:3]) == 1
        assert sum(float(one[name]) < middle for one in values[3:5]) == 1


def test_algorithms_take_turns() -> None:
    spec = spec_parse(
        {
            "env_id": "CartPole-v1",
            "algorithms": [
                {"name": "ppo", "search_space": {"learning_rate": {"loguniform": [1e-4, 1e-2]}}},
                {"name": "dqn", "search_space": {"learning_rate": {"loguniform": [1e-4, 1e-2]}}},
            ],
        }
    )
    made_first = [generate(spec, (), index) for index in range(6)]
    assert [one.algorithm for one in made_first] == ["ppo", "dqn"] * 3
    middles = [float(one.hyperparameters["learning_rate"]) for one in made_first[:2]]
    assert all(abs(middle - 1e-3) < 1e-12 for middle in middles)
