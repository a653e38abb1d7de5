"""New agents: the same for the same arguments, inside their spaces, with a batch, and with parents that rank."""

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podracer_core.hyperparameters import ARCHITECTURE, batch_problem, complete
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.generator import Parent, exploit, fresh, generate, pick_by_rank
from podracer_core.tournament.leaderboard import Entry

SPACE: dict[str, Any] = {
    "learning_rate": {"loguniform": [1e-5, 1e-2]},
    "gamma": {"uniform": [0.9, 0.999]},
    "num_steps": {"choice": [16, 32, 64]},
    "num_minibatches": {"int": [1, 16]},
    "num_epochs": {"choice": [2, 4, 8]},
    "hidden_size": {"choice": [16, 32]},
    "activation": {"choice": ["tanh", "relu"]},
    "norm_obs": {"choice": [True, False]},
    "norm_adv": {"choice": [True, False]},
    "ent_coef": {"uniform": [0.0, 0.02]},
}
SEEDS = st.integers(0, 10**6)


def made(strategies: dict[str, float] | None = None, **parts: Any) -> TournamentSpec:
    return spec_parse(
        {
            "env_id": "CartPole-v1",
            "algorithms": [{"name": "ppo", "search_space": SPACE}],
            "generator": {"strategies": strategies or {"fresh": 0.5, "exploit": 0.5}},
            **parts,
        }
    )


def board(spec: TournamentSpec, size: int = 3) -> list[Parent]:
    return [
        Parent(Entry(index, float(-index), index), "ppo", fresh(spec, Random(index)).hyperparameters)
        for index in range(size)
    ]


def inside(spec: TournamentSpec, values: Any) -> bool:
    for name, space in spec.search_space("ppo").items():
        value = values[name]
        if space.kind in ("fixed", "choice"):
            if value not in space.values:
                return False
        elif not space.values[0] <= value <= space.values[1]:
            return False
    return True


@given(SEEDS, st.integers(0, 1000))
def test_the_same_arguments_make_the_same_agent(seed: int, index: int) -> None:
    spec = made(seed=seed)
    assert generate(spec, board(spec), index) == generate(made(seed=seed), board(spec)[::-1], index)


@given(SEEDS, st.integers(0, 1000))
def test_every_agent_is_complete_inside_its_spaces_and_has_a_batch(seed: int, index: int) -> None:
    spec = made(seed=seed)
    offspring = generate(spec, board(spec), index)
    assert inside(spec, offspring.hyperparameters)
    assert complete("ppo", offspring.hyperparameters).model_dump() == offspring.hyperparameters
    assert batch_problem(offspring.hyperparameters, spec.num_envs("ppo")) is None
    assert 0 <= offspring.seed < 2**31


@given(SEEDS)
def test_a_child_keeps_what_shapes_the_network_and_changes_something_else(seed: int) -> None:
    spec = made()
    parent = board(spec)[0]
    child = exploit(spec, parent, Random(seed))
    assert child.parents == (0,)
    assert child.changes
    assert not set(child.changes) & ARCHITECTURE
    for name, value in child.hyperparameters.items():
        if name in child.changes:
            assert child.changes[name] == (parent.hyperparameters[name], value)
        else:
            assert value == parent.hyperparameters[name]


@given(SEEDS)
def test_a_long_line_of_descent_stays_inside(seed: int) -> None:
    spec, rng = made(), Random(seed)
    parent = board(spec)[0]
    for index in range(30):
        child = exploit(spec, parent, rng)
        assert inside(spec, child.hyperparameters)
        parent = Parent(Entry(index, 0.0, 0), "ppo", child.hyperparameters)


def test_without_anything_to_search_a_child_is_its_parents_copy() -> None:
    spec = spec_parse({"env_id": "CartPole-v1", "algorithms": [{"name": "ppo", "search_space": {}}]})
    parent = board(spec)[0]
    child = exploit(spec, parent, Random(1))
    assert (child.changes, child.hyperparameters) == ({}, parent.hyperparameters)


def test_strategies_come_by_their_weights() -> None:
    spec = made({"fresh": 0.25, "exploit": 0.75})
    counts = Counter(generate(spec, board(spec), index).strategy for index in range(800))
    assert 140 < counts["fresh"] < 260


def test_without_a_parent_that_ranks_every_agent_is_fresh() -> None:
    spec = made({"exploit": 1})
    diverged = [Parent(Entry(0, float("nan"), 0), "ppo", board(spec)[0].hyperparameters)]
    for parents in ([], diverged):
        assert generate(spec, parents, 5).strategy == "fresh"


def test_the_first_of_three_is_three_times_as_probable_as_the_last() -> None:
    order = [Entry(index, 0.0, index) for index in range(3)]
    rng = Random(0)
    counts = Counter(pick_by_rank(order, rng).index for _ in range(6000))
    assert all(abs(counts[index] / 1000 - (3 - index)) < 0.2 for index in range(3))


def test_agents_of_one_tournament_have_seeds_of_their_own() -> None:
    spec = made()
    assert len({generate(spec, [], index).seed for index in range(200)}) == 200
