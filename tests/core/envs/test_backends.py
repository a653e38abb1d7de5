"""Which backend is chosen where, and what is said where the fastest is not there."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from podracer_core.envs.backends import MIN_WARP_ENVS, best_backend, refuse_backend
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.locomotion_rules import RULES
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.errors import EnvError, UnknownEnvironmentError


def installed(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if there or name == "mujoco" else None)


def test_many_bodies_on_a_gpu_are_stepped_there(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, True)
    for env_id in RULES:
        assert best_backend(env_id, MIN_WARP_ENVS, "cuda") == ("mujoco-warp", "")


def test_a_cpu_steps_bodies_by_threads_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, True)
    for env_id in RULES:
        assert best_backend(env_id, 4096, "cpu") == ("mujoco", "")


def test_few_bodies_stay_with_the_threads_which_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, True)
    backend, note = best_backend("Ant-v5", 16, "cuda")
    assert backend == "mujoco"
    assert "CPU threads step the 16 environments of Ant-v5; the GPU does from 256 on" in note


def test_without_mujoco_warp_threads_step_and_the_command_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(monkeypatch, False)
    backend, note = best_backend("Ant-v5", 4096, "cuda")
    assert backend == "mujoco"
    assert "mujoco-warp is not installed; pip install 'mujoco-warp~=4.0'" in note
    with pytest.raises(EnvError, match=r"needs a package that is not installed: pip install 'mujoco-warp~=4\.0'"):
        make_vector_env("Ant-v5", 2, backend="mujoco-warp")


def test_other_environments_have_one_backend_on_every_device(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, True)
    for device in ("cpu", "cuda"):
        assert best_backend("CartPole-v1", 4096, device) == ("batched", "")
        assert best_backend("FrozenLake-v1", 4096, device) == ("gymnasium", "")


def test_the_reason_is_noted_once_by_the_environment() -> None:
    from podracer_core.envs.locomotion import Locomotion

    env = Locomotion("Hopper-v5", 1, note="Threads, because.")
    assert env.notes() == ["Threads, because."]
    assert env.notes() == []
    assert make_vector_env("Hopper-v5", 1).notes() == []
    assert make_vector_env("CartPole-v1", 1).notes() == []


def test_a_backend_can_be_insisted_on_where_there_is_such_a_one() -> None:
    from podracer_core.envs.gymnasium_env import GymnasiumVectorEnv

    env = make_vector_env("CartPole-v1", 1, backend="gymnasium")
    assert isinstance(env, GymnasiumVectorEnv)
    env.close()
    refuse_backend("FrozenLake-v1", "gymnasium")
    with pytest.raises(EnvError, match="CartPole-v1 has no backend 'mujoco-warp'; it has batched, gymnasium"):
        make_vector_env("CartPole-v1", 1, backend="mujoco-warp")
    with pytest.raises(EnvError, match="FrozenLake-v1 has no backend 'batched'; it has gymnasium"):
        make_vector_env("FrozenLake-v1", 1, backend="batched")
    with pytest.raises(UnknownEnvironmentError):
        make_vector_env("Ant-v9", 1)


def test_choosing_loads_neither_torch_nor_warp() -> None:
    assert "mujoco-warp" in CATALOGUE["Ant-v5"].backends
    script = (
        "import sys; from podracer_core.envs.backends import best_backend; best_backend('Ant-v5', 4096, 'cuda')\n"
        "assert not {'torch', 'gymnasium', 'mujoco', 'warp', 'mujoco_warp'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])
