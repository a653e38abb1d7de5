"""Environments of packages that the operator allows: known to processes that run them, never to the web's."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from podracer_core.__main__ import main
from podracer_core.envs import allowed_ids, probe
from podracer_core.envs.allowed import allowed_packages
from podracer_core.envs.known import environment_check
from podracer_core.envs.spaces import make_single
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.errors import EnvError, UnknownEnvironmentError

PACKAGE = '''
import gymnasium, numpy as np
print("a package may talk")
class Walk(gymnasium.Env):
    """Walks on a line from 0; 3 is the end."""
    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x], np.float32), {}
    def step(self, action):
        self.x += 1.0 if action == 1 else -1.0
        return np.array([self.x], np.float32), float(self.x == 3.0), self.x == 3.0, False, {}
gymnasium.register("walks/Walk-v0", entry_point=Walk, max_episode_steps=20, reward_threshold=1.0)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable, allowed package `walks_for_tests`, and an empty cache."""
    (tmp_path / "walks_for_tests.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PODRACER_ENVIRONMENTS", " walks_for_tests, ")
    monkeypatch.setenv("PODRACER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(probe, "_found", {})
    yield tmp_path
    sys.modules.pop("walks_for_tests", None)
    gymnasium.registry.pop("walks/Walk-v0", None)


def test_an_allowed_packages_id_is_checked_without_importing_it_here(package: Path) -> None:
    entry = environment_check("walks/Walk-v0")
    assert (entry.observation_dim, entry.action_dim, entry.max_episode_steps, entry.solved_score) == (1, 2, 20, 1.0)
    assert "walks_for_tests" not in sys.modules
    assert not (package / "home" / "cache").exists()  # what may change tomorrow is not remembered on disk


def test_an_allowed_packages_environment_is_stepped_and_played(package: Path) -> None:
    env = make_vector_env("walks/Walk-v0", 2)
    assert env.reset(1).tolist() == [[0.0], [0.0]]
    env.close()
    make_single("walks/Walk-v0").close()


def test_the_command_line_trains_on_it(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "--env", "walks/Walk-v0", "--env-steps", "2048", "--num-envs", "8", "--json"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["env_id"] == "walks/Walk-v0"


def test_without_leave_it_is_not_known(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PODRACER_ENVIRONMENTS")
    with pytest.raises(UnknownEnvironmentError, match="'walks/Walk-v0' is not known"):
        environment_check("walks/Walk-v0")
    with pytest.raises(UnknownEnvironmentError, match="'walks/Walk-v0' is not known"):
        make_vector_env("walks/Walk-v0", 1)


def test_an_unknown_id_gets_the_nearest_ones_of_allowed_packages_too(package: Path) -> None:
    with pytest.raises(UnknownEnvironmentError, match=r"Did you mean .*walks/Walk-v0"):
        environment_check("walks/Walks-v0")


@pytest.mark.parametrize("env_id", ["walks_for_tests:walks/Walk-v0", "os:CartPole-v1"])
def test_module_ids_stay_refused(package: Path, env_id: str) -> None:
    for use in (environment_check, make_single, lambda name: make_vector_env(name, 1)):
        with pytest.raises(UnknownEnvironmentError, match="names a module to import"):
            use(env_id)
    assert "walks_for_tests" not in sys.modules


@pytest.mark.parametrize("env_id", ["", " ", "a b", "a\0b", "-\n", "a/b/c", "../../x", "\ud800"])
def test_what_cannot_be_an_id_is_refused_at_once(package: Path, env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    with pytest.raises(UnknownEnvironmentError, match="is not known"):
        environment_check(env_id)


def test_a_package_that_fails_is_named_and_hinders_no_other_environment(package: Path) -> None:
    (package / "walks_for_tests.py").write_text("1 / 0")
    wanted = "PODRACER_ENVIRONMENTS names 'walks_for_tests', which cannot be imported: ZeroDivisionError"
    with pytest.raises(EnvError, match=wanted):
        environment_check("walks/Walk-v0")
    with pytest.raises(EnvError, match=wanted):
        make_vector_env("walks/Walk-v0", 1)
    assert environment_check("FrozenLake-v1").observation_dim == 16
    make_vector_env("FrozenLake-v1", 1).close()


@pytest.mark.parametrize("name", ["os.system('x')", "../walks", "a b", "walks;os"])
def test_a_name_that_is_no_module_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODRACER_ENVIRONMENTS", f"json, {name}")
    with pytest.raises(EnvError, match="takes importable modules, separated by commas"):
        allowed_packages()


def test_the_ids_of_allowed_packages_are_listed_without_importing_them_here(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowed_ids, "_found", {})
    assert allowed_ids.allowed_ids() == ["walks/Walk-v0"]
    assert "walks_for_tests" not in sys.modules
    monkeypatch.setattr(subprocess, "run", None)
    assert allowed_ids.allowed_ids() == ["walks/Walk-v0"]  # asked once
    monkeypatch.delenv("PODRACER_ENVIRONMENTS")
    assert allowed_ids.allowed_ids() == []
