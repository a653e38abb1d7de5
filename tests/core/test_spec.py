"""TournamentSpec: complete when it is accepted, and clear when it is not."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.errors import SpecError
from podracer_core.hyperparameters import ALGORITHMS, complete
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import MAX_SPEC_BYTES, spec_parse, spec_parse_json, spec_parse_toml
from podracer_core.tournament.strategies import fresh
from tests.core.making import INSTALLED

FIELDS = ALGORITHMS["ppo"].model_fields


def errors_of(data: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        spec_parse(data)
    return dict(caught.value.errors)


def with_space(**spaces: Any) -> dict[str, Any]:
    return {"env_id": "CartPole-v1", "algorithms": [{"name": "ppo", "search_space": spaces}]}


@pytest.mark.parametrize("env_id", INSTALLED)
def test_an_environment_alone_makes_a_complete_specification(env_id: str) -> None:
    spec = spec_parse({"env_id": env_id})
    assert spec.name
    assert spec.round.env_steps
    assert spec.stop.pods
    assert spec.algorithms[0].search_space
    assert 1 <= int(spec.num_envs_space("ppo").values[0]) <= 65_536
    assert set(spec.search_space("ppo")) == set(FIELDS)


@pytest.mark.parametrize("env_id", INSTALLED)
def test_the_default_target_is_the_catalogues_solved_score(env_id: str) -> None:
    assert spec_parse({"env_id": env_id}).stop.score == CATALOGUE[env_id].solved_score


def test_a_given_stop_rule_replaces_the_default_whole() -> None:
    assert spec_parse({"env_id": "CartPole-v1", "stop": {"hours": 1}}).stop.model_dump(exclude_none=True) == {
        "hours": 1.0
    }


def test_the_example_of_the_design_is_accepted() -> None:
    spec = spec_parse_toml(b"""
name = "cartpole sprint"
env_id = "CartPole-v1"
seed = 1
[[algorithms]]
name = "ppo"
search_space.learning_rate = { loguniform = [1e-4, 3e-3] }
search_space.num_epochs    = { choice = [2, 4, 8] }
[pool]
size = 2
device = "auto"
num_envs = "auto"
priority = 0
[round]
env_steps = 100000
[leaderboard]
size = 8
eval_episodes = 32
score = "mean"
max_per_ancestor = 0.5
[generator]
mode = "asynchronous"
strategies = { fresh = 0.2, exploit = 0.8 }
[stop]
score = 475
""")
    assert spec.algorithms[0].search_space["num_epochs"].values == (2, 4, 8)
    assert spec.stop.model_dump(exclude_none=True) == {"score": 475.0}


SPACES = st.dictionaries(
    st.sampled_from(sorted(FIELDS)),
    st.one_of(
        st.tuples(st.sampled_from(["uniform", "loguniform"]), st.floats(1e-5, 1), st.floats(1e-5, 1)).map(
            lambda drawn: {drawn[0]: sorted(drawn[1:])}
        ),
        st.tuples(st.sampled_from(["int", "uniform", "loguniform"]), st.integers(1, 64), st.integers(0, 64)).map(
            lambda drawn: {drawn[0]: sorted(drawn[1:])}
        ),
        st.lists(st.one_of(st.booleans(), st.integers(0, 9), st.sampled_from(["tanh", "relu"])), max_size=3).map(
            lambda values: {"choice": values}
        ),
        st.integers(0, 64),
    ),
    max_size=4,
)
SPECS = st.fixed_dictionaries(
    {"env_id": st.sampled_from(sorted(CATALOGUE))},
    optional={
        "name": st.text(max_size=20),
        "seed": st.integers(0, 2**53 - 1),
        "algorithms": SPACES.map(lambda spaces: [{"name": "ppo", "search_space": spaces}]),
        "pool": st.fixed_dictionaries({}, optional={"size": st.integers(1, 1024), "num_envs": st.integers(1, 64)}),
        "stop": st.fixed_dictionaries({"pods": st.integers(1, 100)}, optional={"hours": st.floats(0.1, 100)}),
        "leaderboard": st.fixed_dictionaries({}, optional={"max_per_ancestor": st.floats(0.1, 1)}),
    },
)


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_a_blank_name_is_as_none(name: str) -> None:
    assert spec_parse({"env_id": "CartPole-v1", "name": name}).name == "CartPole-v1 tournament"


@given(SPECS)
def test_an_accepted_specification_is_read_back_equal(data: Any) -> None:
    try:
        spec = spec_parse(data)
    except SpecError:
        return
    assert spec_parse_json(spec.model_dump_json().encode()) == spec
    assert spec_parse(spec.model_dump(mode="json")) == spec
    assert TournamentSpec.model_validate(json.loads(spec.model_dump_json())) == spec


@given(SPECS, st.integers(0, 1000))
def test_whatever_an_accepted_space_draws_are_valid_hyperparameters(data: Any, seed: int) -> None:
    try:
        spec = spec_parse(data)
    except SpecError:
        return
    complete("ppo", fresh(spec, (), Random(seed)).hyperparameters)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from(["name", "search_space", "size", "learning_rate", "choice"]), st.text(max_size=4)
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@example({"algorithms": [{"name": ["ppo"]}]}, True)
@example({"algorithms": [{"name": {}}]}, True)
@given(st.dictionaries(st.sampled_from(sorted(TournamentSpec.model_fields)), JSON, max_size=4), st.booleans())
def test_whatever_is_written_only_a_spec_error_comes_of_it(data: dict[str, Any], known: bool) -> None:
    if known:
        data["env_id"] = "CartPole-v1"
    try:
        spec_parse(data)
    except SpecError as error:
        found = error.errors
    else:
        return
    assert found
    assert all(isinstance(field, str) and message for field, message in found)


@given(st.binary(max_size=50))
def test_whatever_bytes_come_only_a_spec_error_comes_of_them(body: bytes) -> None:
    for parse in (spec_parse_json, spec_parse_toml):
        with pytest.raises(SpecError):
            parse(body)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("num_epochs", "uniform"), ("num_steps", "loguniform"), ("norm_adv", "uniform"), ("hidden_size", "uniform")],
)
def test_a_range_of_fractions_is_refused_where_only_whole_numbers_hold(name: str, kind: str) -> None:
    message = errors_of(with_space(**{name: {kind: [1, 2]}}))[f"algorithms.0.search_space.{name}"]
    assert "int" in message or "choice" in message


def test_a_batch_that_some_draw_cannot_make_is_refused() -> None:
    data = with_space(num_steps={"choice": [4, 128]}, num_minibatches={"int": [1, 64]})
    message = errors_of({**data, "pool": {"num_envs": 2}})["algorithms.0.search_space.num_minibatches"]
    assert "8 samples" in message


def test_a_target_above_what_the_environment_gives_is_refused() -> None:
    assert "500" in errors_of({"env_id": "CartPole-v1", "stop": {"score": 600}})["stop.score"]
    assert spec_parse({"env_id": "CartPole-v1", "stop": {"score": 500}}).stop.score == 500


def test_an_id_that_names_a_module_imports_nothing() -> None:
    import sys

    sys.modules.pop("this", None)
    assert "module" in errors_of({"env_id": "this:CartPole-v1"})["env_id"]
    assert "this" not in sys.modules


def test_an_environment_and_other_fields_are_refused_together() -> None:
    assert set(errors_of({"env_id": "CartPol-v1", "pool": {"size": 0}})) == {"env_id", "pool.size"}


def test_a_document_that_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(SpecError, match="262,144"):
        spec_parse_json(b"{" + b" " * MAX_SPEC_BYTES)


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"algorithms": [{"name": "ppo", "search_space": {"learning_rate": True}}]}, "learning_rate"),
        ({"algorithms": [{"name": "ppo", "search_space": {"anneal_lr": 0}}]}, "anneal_lr"),
        ({"algorithms": [{"name": "ppo", "search_space": {"num_epochs": {"choice": [2, "4"]}}}]}, "num_epochs"),
        ({"pool": {"size": "2"}}, "pool.size"),
        ({"pool": {"size": True}}, "pool.size"),
        ({"stop": {"score": "475"}}, "stop.score"),
    ],
)
def test_a_value_of_another_kind_is_refused_not_recorded(parts: dict[str, Any], field: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_parse({"env_id": "CartPole-v1", **parts})
    assert any(name.endswith(field) for name, _ in caught.value.errors), caught.value.errors


def test_an_algorithm_that_cannot_choose_the_environment_s_actions_is_refused_with_those_that_can() -> None:
    data = {"env_id": "CartPole-v1", "algorithms": [{"name": "ppo"}, {"name": "td3"}]}
    message = errors_of(data)["algorithms.1.name"]
    assert "td3 cannot choose discrete actions" in message
    assert "ppo" in message.split(":")[1]
    assert "redq" not in message
    pendulum = {"env_id": "Pendulum-v1", "algorithms": [{"name": "dqn"}]}
    assert "those that can: ppo, a2c, ddpg, td3, sac, redq" in errors_of(pendulum)["algorithms.0.name"]


def test_a_replay_buffer_smaller_than_a_batch_is_refused() -> None:
    space = {"buffer_size": {"int": [100, 5000]}, "batch_size": 128}
    data = {"env_id": "Pendulum-v1", "algorithms": [{"name": "sac", "search_space": space}]}
    message = errors_of(data)["algorithms.0.search_space.buffer_size"]
    assert "100 transitions is too small for batches of 128" in message


def test_more_critics_than_the_ensemble_has_cannot_be_drawn_from_it() -> None:
    space = {"num_critics": {"int": [1, 10]}, "num_subset": {"choice": [1, 2]}}
    data = {"env_id": "Pendulum-v1", "algorithms": [{"name": "redq", "search_space": space}]}
    message = errors_of(data)["algorithms.0.search_space.num_subset"]
    assert "2 critics cannot be drawn from 1" in message


def test_the_entropy_coefficient_is_a_number_or_auto() -> None:
    for space in ({"choice": ["auto", 0.2]}, {"loguniform": [0.01, 1.0]}, 0.1):
        data = {"env_id": "Pendulum-v1", "algorithms": [{"name": "sac", "search_space": {"ent_coef": space}}]}
        spec_parse(data)
    data = {"env_id": "Pendulum-v1", "algorithms": [{"name": "sac", "search_space": {"ent_coef": "often"}}]}
    assert "algorithms.0.search_space.ent_coef" in errors_of(data)


def test_every_strategy_mode_and_selection_is_read_back_as_written() -> None:
    generator = {
        "mode": "asynchronous",
        "strategies": {"fresh": 1, "exploit": 2, "crossover": 1, "fuse": 0.5, "continue": 0, "rerun": 0.1},
        "parent_selection": "tournament",
        "tournament_size": 4,
        "fuse_parents": 3,
    }
    read = spec_parse({"env_id": "CartPole-v1", "generator": generator}).generator.model_dump()
    assert {name: read[name] for name in generator} == generator
    for mode in ("generational", "random_search", "successive_halving"):
        assert spec_parse({"env_id": "CartPole-v1", "generator": {"mode": mode}}).generator.mode == mode


@pytest.mark.parametrize(
    ("parts", "field", "says"),
    [
        ({"generator": {"strategies": {"clone": 1}}}, "generator.strategies", "crossover"),
        ({"generator": {"parent_selection": "luck"}}, "generator.parent_selection", "softmax"),
        ({"generator": {"survivors": 1}}, "generator.survivors", "below 1"),
        ({"generator": {"mode": "generational", "pods_per_agent": 3}}, "generator.pods_per_agent", "at most 1"),
        ({"generator": {"mode": "successive_halving"}, "round": {"seconds": 5}}, "round.env_steps", "rungs"),
    ],
)
def test_a_mode_that_could_not_work_is_refused(parts: dict[str, Any], field: str, says: str) -> None:
    assert says in errors_of({"env_id": "CartPole-v1", **parts})[field]


def test_the_number_of_environments_is_searched_like_a_hyperparameter() -> None:
    spec = spec_parse({**with_space(num_envs={"choice": [8, 64]}), "pool": {"num_envs": 4}})
    assert {fresh(spec, (), Random(seed)).num_envs for seed in range(20)} == {8, 64}
    assert spec_parse({"env_id": "CartPole-v1", "pool": {"num_envs": 4}}).num_envs_space("ppo").values == (4,)
    for bad in ({"int": [0, 8]}, {"uniform": [1, 8]}, True, "many", 70_000):
        assert "whole number from 1" in errors_of(with_space(num_envs=bad))["algorithms.0.search_space.num_envs"]
    batches = with_space(num_envs={"choice": [1, 64]}, num_steps=4, num_minibatches=4)
    assert "4 samples" in errors_of(batches)["algorithms.0.search_space.num_minibatches"]
