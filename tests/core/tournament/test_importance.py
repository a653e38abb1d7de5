"""How much a hyperparameter mattered: known effects are found, chance is not, and neither kin nor depth deceive."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podracer_core.tournament.importance import Trial, importance_problem, importances

Effect = Callable[[float], float]


def trials(
    count: int, effect: Effect = lambda x: 0.0, *, founders: int = 40, kin: float = 0.0, seed: int = 0
) -> list[Trial]:
    """Agents whose score is `effect` of x in [-1, 1], what their founder gave them, and luck of deviation 1."""
    rng = np.random.default_rng(seed)
    given = rng.normal(size=founders) * kin
    found = []
    for index in range(count):
        x = rng.uniform(-1, 1)
        score = effect(x) + given[index % founders] + rng.normal()
        values = {"x": x, "noise": rng.uniform(), "choice": int(rng.choice([2, 4, 8]))}
        found.append(Trial(score, index % founders, int(rng.integers(3)), values))
    return found


def test_an_effect_is_found_with_its_direction_and_its_rivals_are_not() -> None:
    found = importances(trials(200, lambda x: 2 * x))
    assert found[0].name == "x"
    assert found[0].low > 0.3
    assert all(item.low == 0 and item.share < 0.1 for item in found[1:])
    ranks = [level.rank for level in found[0].levels]
    assert ranks == sorted(ranks)
    assert sum(level.agents for level in found[0].levels) == 200


def test_an_optimum_in_the_middle_is_found_too() -> None:
    (first, *_) = importances(trials(200, lambda x: -6 * x * x))
    assert (first.name, first.low > 0.2) == ("x", True)
    outer, inner = [first.levels[i].rank for i in (0, 3)], [first.levels[i].rank for i in (1, 2)]
    assert max(outer) < min(inner)


def test_the_interval_holds_the_true_share_about_as_often_as_it_says() -> None:
    """The true share is that of very many agents."""
    (true, *_) = importances(trials(6000, lambda x: 1.5 * x, founders=6000))
    held = 0
    for seed in range(60):
        found = {item.name: item for item in importances(trials(80, lambda x: 1.5 * x, seed=seed), seed=seed)}
        held += found["x"].low <= true.share <= found["x"].high
    assert held >= 50


def test_chance_is_seldom_taken_for_an_effect() -> None:
    wrong = [item.low > 0 for seed in range(40) for item in importances(trials(60, seed=seed), seed=seed)]
    assert np.mean(wrong) < 0.1


def test_kin_that_share_their_value_and_their_luck_do_not_pass_for_an_effect() -> None:
    """Each founder draws x once and all its line keeps it, so that only as many values as founders were tried."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        drawn, luck = rng.uniform(size=10), rng.normal(size=10)
        line = [
            Trial(float(luck[i % 10] + 0.3 * rng.normal()), i % 10, 0, {"x": float(drawn[i % 10])}) for i in range(200)
        ]
        wrong += any(item.low > 0.05 for item in importances(line, seed=seed))
    assert wrong <= 10


def test_later_agents_are_better_but_that_is_not_their_hyperparameters() -> None:
    """x grows with each descent, and so does the score, whatever x is."""
    rng = np.random.default_rng(3)
    line = [
        Trial(depth * 5 + rng.normal(), index % 20, depth, {"x": depth + rng.uniform()})
        for index in range(200)
        for depth in [index % 5]
    ]
    (found,) = importances(line)
    assert found.low == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 60), st.integers(0, 10_000), st.floats(0.1, 100), st.floats(-1000, 1000))
def test_it_depends_on_the_order_of_the_scores_alone(count: int, seed: int, scale: float, shift: float) -> None:
    given = trials(count, lambda x: x, founders=8, seed=seed)
    moved = [replace(trial, score=round(trial.score, 6) * scale + shift) for trial in given]
    rounded = [replace(trial, score=round(trial.score, 6)) for trial in given]
    assert importances(moved) == importances(rounded)


def test_texts_and_truths_are_levels_of_their_own() -> None:
    rng = np.random.default_rng(1)
    mixed = [
        Trial(float(kind == "tanh") * 3 + rng.normal(), i, 0, {"activation": kind, "anneal": bool(i % 2)})
        for i in range(60)
        for kind in [["relu", "tanh", "elu"][i % 3]]
    ]
    found = importances(mixed)
    assert found[0].name == "activation"
    assert [(level.low, level.agents) for level in found[0].levels] == [("elu", 20), ("relu", 20), ("tanh", 20)]
    assert [level.low for level in found[1].levels] == [False, True]


@pytest.mark.parametrize(("count", "founders"), [(19, 10), (50, 4), (1, 1), (0, 1)])
def test_too_few_agents_are_refused_with_a_sentence(count: int, founders: int) -> None:
    few = trials(count, founders=founders)
    assert importances(few) == ()
    problem = importance_problem(few)
    assert problem is not None
    assert f"{count} of " in problem


def test_equal_scores_and_fixed_hyperparameters_tell_nothing() -> None:
    alike = [replace(trial, score=500.0) for trial in trials(40)]
    assert importances(alike) == ()
    fixed = [replace(trial, values={"x": 1.0}) for trial in trials(40)]
    assert importances(fixed) == ()
