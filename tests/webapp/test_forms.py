"""The form of a new tournament: what is typed, what it becomes, and where errors are shown."""

from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.spec_parse import spec_parse, spec_parse_toml
from webapp.tournaments.form import forms
from webapp.tournaments.form import typed as forms_typed
from webapp.tournaments.form.presets import PRESETS
from webapp.tournaments.spec_file import spec_toml


def typed(spec: dict[str, Any] | None = None, /, **changes: str) -> QueryDict:
    """What a browser sends for the form filled in from `spec`, after the user typed `changes`."""
    form = forms.TournamentForm(spec=spec_parse(spec or {"env_id": "CartPole-v1"}).model_dump(mode="json"))
    data = QueryDict(mutable=True)
    for name in form.fields:
        value = form.initial[name]
        data.setlist(name, value if isinstance(value, list) else [value])
    for row in form.rows:
        for column in ("algorithm", "name", "kind", "values"):
            data.appendlist(f"space-{column}", getattr(row, column))
    for name, text in changes.items():
        data[name] = text
    return data


def row_add(data: QueryDict, name: str, kind: str, values: str) -> QueryDict:
    for column, text in {"algorithm": "ppo", "name": name, "kind": kind, "values": values}.items():
        data.appendlist(f"space-{column}", text)
    return data


def submitted(data: QueryDict) -> forms.TournamentForm:
    form = forms.TournamentForm(data)
    form.is_valid()
    return form


def errors_of(form: forms.TournamentForm, field: str) -> str:
    return " ".join(str(error) for error in form.errors[field])


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.slug)
def test_every_preset_can_be_started_as_it_is(preset: Any) -> None:
    spec = spec_parse({"name": preset.name, **preset.spec})
    form = submitted(typed({"name": preset.name, **preset.spec}))
    assert not form.errors
    assert form.spec == spec


def test_everything_that_can_be_set_comes_through() -> None:
    written = {
        "name": "all of it",
        "env_id": "Pendulum-v1",
        "seed": 7,
        "algorithms": [
            {
                "name": "ppo",
                "search_space": {
                    "learning_rate": {"loguniform": [1e-4, 3e-3]},
                    "num_epochs": {"choice": [2, 4, 8]},
                    "gamma": {"uniform": [0.9, 0.99]},
                    "hidden_size": {"int": [32, 64]},
                    "norm_obs": {"fixed": True},
                    "activation": {"choice": ["tanh", "relu"]},
                },
            }
        ],
        "pool": {"size": 3, "device": "cpu", "num_envs": 32, "priority": -2},
        "round": {"env_steps": 250_000, "seconds": 12.5},
        "leaderboard": {"size": 5, "eval_episodes": 64, "score": "iqm", "max_per_ancestor": 0.75},
        "generator": {"strategies": {"fresh": 0.5, "exploit": 1.5}},
        "stop": {"score": -250.5, "pods": 40, "env_steps": 10_000_000, "hours": 2.5, "patience": 9},
        "max_failures": 5,
    }
    form = submitted(typed(written))
    assert not form.errors
    assert form.spec == spec_parse(written)


@pytest.mark.parametrize(
    ("field", "text", "says"),
    [
        ("env_id", "CartPoel-v1", "CartPole-v1"),
        ("env_id", "os:CartPole-v1", "names a module to import"),
        ("env_id", "", "name the environment"),
        ("pool_size", "0", "at least 1"),
        ("pool_size", "99999", "at most 1,024"),
        ("pool_size", "two", "two"),
        ("round_env_steps", "-5", "at least 1"),
        ("leaderboard_size", "0", "at least 1"),
        ("eval_episodes", "1", "at least 2"),
        ("stop_score", "nan", "nan"),
        ("stop_score", "501", "can never be met"),
        ("num_envs", "many", "many"),
        ("num_envs", "0", "0"),
        ("device", "tpu", "tpu"),
        ("score", "median", "median"),
        ("fresh", "-1", "from 0 up"),
        ("seed", "-1", "at least 0"),
        ("seed", "1.5", "1.5"),
        ("algorithms", "magic", "available: ppo"),
        ("algorithms", "", "at least 1"),
        ("priority", "1000", "at most 100"),
    ],
)
def test_an_error_stands_beside_its_field_and_the_input_is_kept(field: str, text: str, says: str) -> None:
    form = submitted(typed(**{field: text}))
    assert form.spec is None
    assert says.lower() in errors_of(form, field).lower()
    assert form.data[field] == text


def test_no_rule_at_all_is_refused_where_the_rules_are() -> None:
    form = submitted(typed(stop_score="", stop_pods=""))
    assert "nothing would ever end it" in errors_of(form, "stop_score").lower()


def test_an_emptied_target_stays_empty() -> None:
    form = submitted(typed(stop_score=""))
    assert form.spec is not None
    assert form.spec.stop.score is None


def test_no_weight_above_zero_is_refused() -> None:
    form = submitted(typed(fresh="0", exploit="0"))
    assert "weight above 0" in errors_of(form, "fresh")


@pytest.mark.parametrize(
    ("name", "kind", "values", "says"),
    [
        ("learning_rat", "fixed", "1", "no such hyperparameter"),
        ("gamma", "uniform", "0.99, 0.9", "above high"),
        ("gamma", "uniform", "0.9", "low, high"),
        ("vf_coef", "loguniform", "0, 1", "starts above 0"),
        ("activation", "choice", "", "empty"),
        ("activation", "choice", "tanh, sinus", "sinus"),
        ("num_epochs", "int", "1.5, 3", "whole numbers"),
        ("clip_coef", "uniform", "nan, 1", "finite"),
    ],
)
def test_a_search_space_that_does_not_hold_says_so_in_its_row(name: str, kind: str, values: str, says: str) -> None:
    form = submitted(row_add(typed(), name, kind, values))
    assert form.spec is None
    row = next(row for row in form.rows if row.name == name)
    assert says in " ".join(row.errors).lower()
    assert (row.kind, row.values) == (kind, values)


def test_minibatches_beyond_the_batch_are_refused() -> None:
    form = submitted(row_add(typed(), "num_minibatches", "fixed", "4096"))
    row = next(row for row in form.rows if row.name == "num_minibatches")
    assert "too many" in row.errors[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("200000", 200_000),
        ("200,000", 200_000),
        ("1_000_000", 1_000_000),
        ("200k", 200_000),
        ("1.5 M", 1_500_000),
        ("2e5", 200_000),
        ("0.5", 0.5),
        ("-110", -110),
        ("0,5", "0,5"),
        ("12,34", "12,34"),
        ("auto", "auto"),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, value: object) -> None:
    read = forms_typed.number_typed(text)
    assert read == value
    assert type(read) is type(value)


@given(st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_number_that_is_shown_is_read_back(value: float) -> None:
    assert forms_typed.number_typed(forms_typed.number_text(value)) == value


@given(st.text(max_size=50), st.text(max_size=50))
def test_whatever_is_typed_gets_an_answer(size: str, values: str) -> None:
    form = submitted(row_add(typed(pool_size=size), "gamma", "uniform", values))
    assert form.errors or form.spec


@given(
    st.text(max_size=40).filter(lambda text: text.strip() and " ".join(text.split()).isprintable()),
    st.integers(0, 2**53 - 1),
    st.floats(1e-6, 1e-3),
)
def test_a_specification_survives_its_toml_file(name: str, seed: int, rate: float) -> None:
    space = {
        "learning_rate": {"loguniform": [rate, 1e-2]},
        "norm_obs": True,
        "activation": {"choice": ["tanh", "relu"]},
    }
    algorithms = [{"name": "ppo", "search_space": space}]
    spec = spec_parse({"name": name, "env_id": "CartPole-v1", "seed": seed, "algorithms": algorithms})
    assert spec_parse_toml(spec_toml(spec.model_dump(mode="json")).encode()) == spec


def test_a_row_for_an_algorithm_that_does_not_take_part_is_refused_not_dropped() -> None:
    data = typed()
    data.setlist("algorithms", ["a2c"])
    form = submitted(data)
    assert form.spec is None
    assert all("ppo does not take part (chosen: a2c)" in row.errors[0] for row in form.rows)
