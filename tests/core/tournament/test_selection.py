"""How likely which agent is picked as a parent."""

import math
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.tournament.generator import generate
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.offspring import Parent
from podracer_core.tournament.selection import pick, pick_by_rank, pick_by_softmax, pick_by_tournament, unpassed
from tests.core.tournament.making import board, made


def order_of(scores: list[float]) -> list[Parent]:
    ranked = sorted(scores, reverse=True)
    return [Parent(Entry(index, score, index), "ppo", {}, 8) for index, score in enumerate(ranked)]


def test_by_rank_the_first_of_three_is_three_times_as_probable_as_the_last() -> None:
    rng = Random(0)
    counts = Counter(pick_by_rank(order_of([0.0, 0.0, 0.0]), rng).entry.index for _ in range(6000))
    assert all(abs(counts[index] / 1000 - (3 - index)) < 0.2 for index in range(3))


def test_by_softmax_one_deviation_is_a_factor_of_e_whatever_the_unit() -> None:
    for unit in (1.0, 1e6):
        rng = Random(0)
        picks = [pick_by_softmax(order_of([-unit, unit]), 1.0, rng).entry.index for _ in range(5000)]
        # Two scores are two of their deviations apart.
        assert picks.count(0) / 5000 == pytest.approx(math.e**2 / (1 + math.e**2), abs=0.02)


def test_by_tournament_of_two_the_best_of_four_wins_seven_of_sixteen() -> None:
    rng = Random(0)
    picks = [pick_by_tournament(order_of([4.0, 3.0, 2.0, 1.0]), 2, rng).entry.index for _ in range(8000)]
    assert picks.count(0) / 8000 == pytest.approx(7 / 16, abs=0.02)
    assert picks.count(3) / 8000 == pytest.approx(1 / 16, abs=0.02)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
    st.sampled_from(["rank", "softmax", "tournament"]),
    st.floats(0.01, 1000),
    st.integers(0, 1000),
)
def test_whatever_the_scores_somebody_is_picked(scores: list[float], how: str, temperature: float, seed: int) -> None:
    spec = made(generator={"parent_selection": how, "temperature": temperature}).generator
    order = order_of(scores)
    assert pick(order, spec, Random(seed)) in order


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=12))
def test_nobody_is_a_parent_whom_a_relative_passed_by_longer_training(agents: list[tuple[int, int]]) -> None:
    """agents: the best first, founder and rounds trained"""
    order = [
        Parent(Entry(index, -float(index), founder), "ppo", {}, 8, 1000 * rounds)
        for index, (founder, rounds) in enumerate(agents)
    ]
    heads = unpassed(order)
    assert heads[0] is order[0]
    for place, parent in enumerate(order):
        better = [other for other in order[:place] if other.entry.founder == parent.entry.founder]
        passed = any(other.total_env_steps > parent.total_env_steps for other in better)
        assert passed is not any(parent is head for head in heads)


@pytest.mark.parametrize("strategy", ["exploit", "continue"])
def test_heirs_descend_from_the_heads_of_families_and_say_so(strategy: str) -> None:
    spec = made({strategy: 1.0})
    first, second, third = board(spec, 3, families=1)
    order = [replace(first, total_env_steps=3000), second, replace(third, total_env_steps=4000)]
    made_of = [generate(spec, order, index) for index in range(40)]
    assert {child.parents[0] for child in made_of} == {0, 2}
    assert {child.origin for child in made_of} == {
        f"Picked as the {place} of 3 by its rank, of 2 that no relative has passed." for place in ("1st", "3rd")
    }
