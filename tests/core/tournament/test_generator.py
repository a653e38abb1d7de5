"""New agents: the same for the same arguments, by the strategies' weights, and with parents that rank."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.hyperparameters import batch_problem, complete
from podracer_core.spec import STRATEGIES
from podracer_core.tournament.generator import generate
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.offspring import Parent
from podracer_core.tournament.strategies import STRATEGIES as MAKERS
from tests.core.tournament.making import board, inside, made

SEEDS = st.integers(0, 10**6)
WEIGHTS = st.fixed_dictionaries({name: st.sampled_from([0.0, 0.5, 1.0]) for name in STRATEGIES}).filter(
    lambda weights: sum(weights.values()) > 0
)


def test_every_named_strategy_is_built() -> None:
    assert set(MAKERS) == set(STRATEGIES)


@given(SEEDS, st.integers(0, 1000), WEIGHTS)
def test_the_same_arguments_make_the_same_agent(seed: int, index: int, weights: dict[str, float]) -> None:
    spec = made(weights, seed=seed)
    assert generate(spec, board(spec), index) == generate(made(weights, seed=seed), board(spec)[::-1], index)


@given(SEEDS, WEIGHTS, st.integers(1, 3))
def test_every_agent_is_complete_inside_its_spaces_and_has_a_batch(
    seed: int, weights: dict[str, float], families: int
) -> None:
    spec = made(weights, seed=seed)
    offspring = generate(spec, board(spec, families=families), 7)
    assert inside(spec, offspring)
    assert complete("ppo", offspring.hyperparameters).model_dump() == offspring.hyperparameters
    assert batch_problem(offspring.hyperparameters, offspring.num_envs) is None
    assert 0 <= offspring.seed < 2**31


@given(SEEDS, WEIGHTS, st.integers(0, 4), st.integers(1, 3))
def test_without_weight_a_strategy_never_occurs_but_fresh_where_nobody_can_be_a_parent(
    index: int, weights: dict[str, float], size: int, families: int
) -> None:
    spec = made(weights)
    parents = board(spec, size, families)
    offspring = generate(spec, parents, index)
    if weights[offspring.strategy] > 0:
        return
    assert offspring.strategy == "fresh"
    # Nobody at all, or too few for the strategies that have a weight: two that differ to cross, two of one family, who
    # are alike here, to fuse.
    crossing = 2 if families > 1 else math.inf
    needs = {"exploit": 1, "continue": 1, "rerun": 1, "crossover": crossing, "fuse": families + 1}
    assert all(size < needs[name] for name, weight in weights.items() if weight > 0)


@given(SEEDS, WEIGHTS, st.lists(st.sampled_from([1.0, 2.0, float("nan"), float("inf"), float("-inf")]), max_size=5))
def test_no_invalid_score_fathers(index: int, weights: dict[str, float], scores: list[float]) -> None:
    spec = made(weights)
    one = board(spec, 1)[0]
    parents = [Parent(Entry(i, score, 0), "ppo", one.hyperparameters, 8, 1000) for i, score in enumerate(scores)]
    offspring = generate(spec, parents, index)
    assert all(scores[parent] in (1.0, 2.0) for parent in offspring.parents)


def test_strategies_come_by_their_weights() -> None:
    spec = made({"fresh": 0.25, "exploit": 0.5, "continue": 0.25})
    counts = Counter(generate(spec, board(spec), index).strategy for index in range(800))
    assert 140 < counts["fresh"] < 260
    assert 140 < counts["continue"] < 260


def test_without_a_parent_that_ranks_every_agent_is_fresh() -> None:
    spec = made({"exploit": 1})
    diverged = [Parent(Entry(0, float("nan"), 0), "ppo", board(spec)[0].hyperparameters, 8)]
    for parents in ([], diverged):
        assert generate(spec, parents, 5).strategy == "fresh"


def test_agents_of_one_tournament_have_seeds_of_their_own() -> None:
    spec = made()
    assert len({generate(spec, [], index).seed for index in range(200)}) == 200


@pytest.mark.parametrize(("left", "strategy"), [(999, "fresh"), (1000, "rerun"), (None, "rerun")])
def test_a_schedule_that_the_budget_leaves_no_room_for_is_not_run_again(left: int | None, strategy: str) -> None:
    spec = made({"rerun": 1})
    assert generate(spec, board(spec), 3, env_steps_left=left).strategy == strategy
