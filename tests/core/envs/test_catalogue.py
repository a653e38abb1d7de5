"""What is known of environments without running them."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from podracer_core.envs import probe
from podracer_core.envs.catalogue import CATALOGUE, catalogue_list
from podracer_core.envs.known import environment_check
from podracer_core.envs.spaces import SpaceInfo, describe_space
from podracer_core.envs.wrapped import is_atari
from podracer_core.errors import EnvError, UnknownEnvironmentError
from podracer_core.hyperparameters import batch_problem, complete


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, in memory and on disk."""
    monkeypatch.setenv("PODRACER_HOME", str(tmp_path))
    monkeypatch.setattr(probe, "_found", {})
    return tmp_path


def assert_same_space(ours: SpaceInfo, theirs: SpaceInfo) -> None:
    assert (ours.kind, ours.shape, ours.dtype, ours.n) == (theirs.kind, theirs.shape, theirs.dtype, theirs.n)
    for mine, gyms in ((ours.low, theirs.low), (ours.high, theirs.high)):
        np.testing.assert_allclose(np.array(mine, float), np.array(gyms, float), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
@pytest.mark.parametrize("env_id", [env_id for env_id in CATALOGUE if not is_atari(env_id)])  # see test_atari.py
def test_entries_say_what_gymnasium_says(env_id: str) -> None:
    entry, env = CATALOGUE[env_id], gymnasium.make(env_id)
    assert entry.id == env_id
    assert entry.max_episode_steps == env.spec.max_episode_steps
    ours = {"Pendulum-v1": -200.0}
    assert entry.solved_score == ours.get(env_id, env.spec.reward_threshold)
    assert_same_space(entry.observation_space, describe_space(env.observation_space))
    assert_same_space(entry.action_space, describe_space(env.action_space))
    env.close()


@pytest.mark.parametrize("env_id", CATALOGUE)
def test_tuned_hyperparameters_hold_and_make_a_batch(env_id: str) -> None:
    entry = CATALOGUE[env_id]
    for algorithm, values in entry.defaults.items():
        whole = complete(algorithm, values)
        assert batch_problem(whole.model_dump(), entry.num_envs) is None


def test_the_list_is_strict_json() -> None:
    json.dumps([entry.model_dump(mode="json") for entry in catalogue_list()], allow_nan=False)


def test_the_catalogue_loads_neither_torch_nor_gymnasium() -> None:
    script = (
        "import sys; from podracer_core.envs.known import *; environment_check('CartPole-v1')\n"
        "assert not {'torch', 'gymnasium'} & set(sys.modules)\n"
        "import podracer_core.envs.registered, podracer_core.envs.env_group\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])


@pytest.mark.parametrize("env_id", ["os:CartPole-v1", "antigravity:CartPole-v1", "a:b:c", ":", "antigravity:"])
def test_module_ids_are_refused_and_nothing_is_imported(env_id: str) -> None:
    with pytest.raises(UnknownEnvironmentError, match="names a module to import"):
        environment_check(env_id)
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("CartPole-v9", "CartPole-v1"),
        ("cartpole", "CartPole-v1"),
        ("FrozenLake", "FrozenLake-v1"),
        ("MountainCarContinous-v0", "MountainCarContinuous-v0"),
        ("zzzzzz", "Known are CartPole-v1, Acrobot-v1"),
    ],
)
def test_an_unknown_id_gets_the_nearest_ones(wrong: str, near: str) -> None:
    with pytest.raises(UnknownEnvironmentError, match=near) as caught:
        environment_check(wrong)
    assert repr(wrong) in str(caught.value)


def test_a_registered_id_is_probed_once_and_remembered_on_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = environment_check("Blackjack-v1")
    assert entry.observation_space.text == "Tuple(Discrete(32), Discrete(11), Discrete(2))"
    assert (entry.observation_dim, entry.action_kind, entry.action_dim) == (45, "discrete", 2)
    assert (entry.kind, entry.max_episode_steps, entry.backends) == ("toy text", None, ("gymnasium",))
    monkeypatch.setattr(probe, "TIMEOUT", 0.001)  # no probe can succeed from here on
    assert environment_check("Blackjack-v1") == entry
    probe._found.clear()
    assert environment_check("Blackjack-v1") == entry
    with pytest.raises(EnvError, match="FrozenLake-v1 did not start within"):
        environment_check("FrozenLake-v1")


def test_a_damaged_cache_is_probed_again(home: Path) -> None:
    entry = environment_check("FrozenLake-v1")
    (file,) = (home / "cache" / "environments").iterdir()
    file.write_text('{"id": "Froz')
    probe._found.clear()
    assert environment_check("FrozenLake-v1") == entry


def test_a_home_that_cannot_be_written_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("PODRACER_HOME", str(blocked))
    assert environment_check("FrozenLake-v1").observation_dim == 16


def test_a_missing_box2d_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvError, match=r"LunarLander-v3 needs the Python package 'Box2D'.*gymnasium\[box2d\]"):
        environment_check("LunarLander-v3")
    assert environment_check("CartPole-v1").id == "CartPole-v1"


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="jax is installed")
def test_a_missing_package_is_named() -> None:
    with pytest.raises(EnvError, match="phys2d/CartPole-v1 needs the Python package 'jax'"):
        environment_check("phys2d/CartPole-v1")
