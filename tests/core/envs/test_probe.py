"""How many environments a pod steps at once, where nobody has tuned that: as many as their cost allows."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.envs import probe
from podracer_core.envs.known import environment_check
from podracer_core.envs.tuned import DEFAULT_NUM_ENVS
from podracer_core.spec_parse import spec_parse


@pytest.fixture
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODRACER_HOME", str(tmp_path))
    monkeypatch.setattr(probe, "_found", {})


@given(st.lists(st.floats(1e-9, 10.0), min_size=2, max_size=5))
def test_the_cheaper_a_step_the_more_environments_within_bounds(costs: list[float]) -> None:
    counts = [probe.num_envs_for(cost) for cost in sorted(costs)]
    assert counts == sorted(counts, reverse=True)
    assert all(DEFAULT_NUM_ENVS <= count <= probe.MOST_NUM_ENVS for count in counts)
    assert all(count & (count - 1) == 0 for count in counts)


def test_what_cannot_be_stepped_gets_the_usual_number() -> None:
    class Broken:
        action_space: Any = None

    assert probe.seconds_per_step(Broken()) is None
    assert probe.num_envs_for(None) == DEFAULT_NUM_ENVS


@pytest.mark.usefixtures("_home")
def test_what_was_measured_is_written_into_the_specification_and_keeps_the_batch() -> None:
    measured = environment_check("FrozenLake-v1").num_envs
    assert measured >= DEFAULT_NUM_ENVS
    spec = spec_parse({"env_id": "FrozenLake-v1", "algorithms": [{"name": "ppo"}, {"name": "dqn"}]})
    assert [spec.num_envs_space(name).extremes for name in ("ppo", "dqn")] == [(measured,), (measured,)]
    assert spec.search_space("ppo")["num_steps"].extremes == (256 * DEFAULT_NUM_ENVS // measured,)
    assert spec_parse(spec.model_dump()) == spec


@pytest.mark.usefixtures("_home")
def test_what_the_user_says_holds() -> None:
    pooled = spec_parse({"env_id": "FrozenLake-v1", "pool": {"num_envs": 4}})
    assert pooled.num_envs_space("ppo").extremes == (4,)
    assert pooled.search_space("ppo")["num_steps"].extremes == (256,)
    searched = {"name": "ppo", "search_space": {"num_envs": {"choice": [2, 4]}, "num_steps": 64}}
    spec = spec_parse({"env_id": "FrozenLake-v1", "algorithms": [searched]})
    assert set(spec.num_envs_space("ppo").extremes) == {2, 4}
    assert spec.search_space("ppo")["num_steps"].extremes == (64,)


def test_the_catalogues_numbers_are_not_written_down() -> None:
    assert "num_envs" not in spec_parse({"env_id": "CartPole-v1"}).algorithms[0].search_space
