"""What each strategy takes from whom."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podracer_core.hyperparameters import ALGORITHMS, ARCHITECTURE
from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.offspring import Offspring, Parent
from podracer_core.tournament.strategies import continue_, crossover, exploit, fresh, fuse, rerun
from tests.core.tournament.making import board, inside, made, parent_of

SEEDS = st.integers(0, 10**6)


def values(one: Parent | Offspring) -> dict[str, Any]:
    return {**one.hyperparameters, "num_envs": one.num_envs}


@given(SEEDS)
def test_a_child_keeps_what_shapes_the_network_and_changes_something_else(seed: int) -> None:
    spec = made()
    parent = board(spec)[0]
    child = exploit(spec, [parent], Random(seed))
    assert child is not None
    assert child.parents == child.inherits == (0,)
    assert child.changes
    assert not set(child.changes) & ARCHITECTURE
    for name, value in values(child).items():
        if name in child.changes:
            assert child.changes[name] == (values(parent)[name], value)
        else:
            assert value == values(parent)[name]
    assert "1st of 1" in child.origin


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_long_line_of_descent_stays_inside_and_never_sticks(seed: int) -> None:
    spec, rng = made(), Random(seed)
    parent = board(spec)[0]
    for index in range(20):
        child = exploit(spec, [parent], rng)
        assert child is not None
        assert child.changes
        assert inside(spec, child)
        parent = parent_of(child, index)


@given(SEEDS)
def test_what_shapes_the_network_is_drawn_for_fresh_agents_alone(seed: int) -> None:
    spec, order = made(), board(made(), 4, 2)
    for strategy in (exploit, continue_, crossover, fuse, rerun):
        child = strategy(spec, order, Random(seed))
        assert child is not None
        first = order[child.parents[0]]
        assert all(
            child.hyperparameters[name] == first.hyperparameters[name] for name in ARCHITECTURE & set(values(child))
        )


def test_without_anything_to_search_a_child_is_its_parents_copy() -> None:
    spec = made(space={})
    parent = board(spec)[0]
    child = exploit(spec, [parent], Random(1))
    assert child is not None
    assert (child.changes, values(child)) == ({}, values(parent))


@given(SEEDS)
def test_a_continued_agent_changes_nothing_but_its_seed(seed: int) -> None:
    spec, order = made(), board(made())
    child = continue_(spec, order, Random(seed))
    assert child is not None
    assert child.inherits == child.parents
    assert (child.changes, values(child)) == ({}, values(order[child.parents[0]]))


@given(SEEDS)
def test_crossing_takes_weights_of_the_better_and_each_hyperparameter_of_either(seed: int) -> None:
    spec, order = made(), board(made(), 4)
    child = crossover(spec, order, Random(seed))
    assert child is not None
    better, worse = child.parents
    assert better < worse  # the order of the board
    assert child.inherits == (better,)
    for name, value in values(child).items():
        assert value in (values(order[better])[name], values(order[worse])[name])
        if name in ARCHITECTURE:
            assert value == values(order[better])[name]


def test_crossing_mixes() -> None:
    spec, order = made(), board(made(), 2)
    counts = Counter(name for seed in range(100) for name in crossover(spec, order, Random(seed)).changes)  # type: ignore[union-attr]
    differing = [name for name in ("learning_rate", "gamma") if values(order[0])[name] != values(order[1])[name]]
    assert differing
    assert all(25 < counts[name] < 75 for name in differing)


@given(SEEDS)
def test_a_crossing_takes_something_from_the_worse_and_never_of_equals(seed: int) -> None:
    spec = made()
    first, *_ = order = board(spec, 3)
    twin = replace(first, entry=Entry(9, -9.0, 9))
    assert crossover(spec, [first, twin], Random(seed)) is None
    child = crossover(spec, [*order, twin], Random(seed))
    assert child is not None
    assert child.changes
    assert set(child.parents) != {0, 9}


def test_two_algorithms_are_not_crossed() -> None:
    spec = spec_parse({"env_id": "CartPole-v1", "algorithms": [{"name": "ppo"}, {"name": "dqn"}]})
    drawn = [fresh(spec, (), Random(seed)) for seed in range(20)]
    ppo, *_ = (one for one in drawn if one.algorithm == "ppo")
    dqn, other, *_ = (one for one in drawn if one.algorithm == "dqn")
    order = [parent_of(ppo, 0, 2.0), parent_of(dqn, 1, 1.0)]
    assert crossover(spec, order, Random(0)) is None
    again = crossover(spec, [*order, parent_of(other, 2, 0.0)], Random(0))
    assert again is not None
    assert again.parents == (1, 2)


@given(SEEDS, st.integers(2, 4))
def test_only_agents_of_one_ancestry_and_architecture_are_fused(seed: int, count: int) -> None:
    spec = made(generator={"fuse_parents": count})
    order = board(spec, 7, 3)
    child = fuse(spec, order, Random(seed))
    assert child is not None
    parents = [order[index] for index in child.parents]
    assert child.inherits == child.parents == tuple(sorted(child.parents))
    assert 2 <= len(parents) <= count
    assert len({parent.entry.founder for parent in parents}) == 1
    assert values(child) == values(parents[0])


def test_strangers_and_other_architectures_are_not_fused() -> None:
    spec = made()
    assert fuse(spec, board(spec, 5), Random(0)) is None
    founder = fresh(spec, (), Random(0))
    other = parent_of(founder, 1, 0.0, founder=0)
    wider = Parent(other.entry, "ppo", {**other.hyperparameters, "hidden_size": 1024}, 8, 1000)
    assert fuse(spec, [parent_of(founder, 0, 1.0), wider], Random(0)) is None
    assert fuse(spec, [parent_of(founder, 0, 1.0), other], Random(0)) is not None


def test_a_rerun_inherits_nothing_and_names_whose_schedule_it_runs() -> None:
    spec, order = made(), board(made(), 1)
    child = rerun(spec, order, Random(0))
    assert child is not None
    assert (child.parents, child.inherits, child.changes) == ((0,), (), {})
    assert "1,000 env steps" in child.origin


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_hyperparameter_of_every_algorithm_can_be_searched(algorithm: str) -> None:
    """Drawn, moved and crossed over thirty generations, all at once."""
    model, env_id = ALGORITHMS[algorithm], "CartPole-v1" if algorithm == "dqn" else "Pendulum-v1"
    space: dict[str, Any] = {"num_envs": {"int": [2, 16]}}
    for name, value in model().model_dump().items():
        if isinstance(value, bool):
            space[name] = {"choice": [True, False]}
        elif isinstance(value, int):
            space[name] = {"int": [max(value, 1), 2 * max(value, 1)]}
        elif isinstance(value, float):
            space[name] = {"uniform": [value / 2, value]} if value else 0.0
        else:
            space[name] = {"choice": ["tanh", "relu", "elu"] if name == "activation" else [value]}
    space["norm_adv"] = False
    if "num_minibatches" in space:
        space["num_minibatches"] = {"int": [1, 4]}
    space = {name: kind for name, kind in space.items() if name in model.model_fields or name == "num_envs"}
    spec = spec_parse({"env_id": env_id, "algorithms": [{"name": algorithm, "search_space": space}]})
    rng = Random(0)
    order = [parent_of(fresh(spec, (), rng), 0)]
    for index in range(1, 30):
        child = exploit(spec, order, rng)
        assert child is not None
        model.model_validate(child.hyperparameters, strict=True)
        assert 2 <= child.num_envs <= 16
        order = [parent_of(child, index)]
