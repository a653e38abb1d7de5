"""MuJoCo bodies against Gymnasium's own single environments: same seeds, same actions, same course."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
import torch

from podracer_core.agents.ppo import PPO
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.env_group import EnvGroup, Share
from podracer_core.envs.known import environment_check
from podracer_core.envs.locomotion import Locomotion
from podracer_core.envs.locomotion_physics import PhysicsError
from podracer_core.envs.locomotion_rules import RULES
from podracer_core.envs.registered import registered_spec, start
from podracer_core.envs.spaces import make_single
from podracer_core.envs.vector_env import Step, make_vector_env
from podracer_core.errors import EnvError, EnvironmentCrashedError
from podracer_core.hyperparameters import complete

NUM_ENVS = 3
OLD_FASHIONED = ["HalfCheetah-v5", "HalfCheetah-v4"]
"""Whose models MuJoCo's compiler has something to say of."""

FALLING = [env_id for env_id, rules in RULES.items() if rules.healthy]
pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def actions(env: Locomotion, rng: np.random.Generator, reach: float = 1.2) -> torch.Tensor:
    """At random, up to a fifth beyond the bounds."""
    assert env.action_high is not None
    drawn = rng.uniform(-reach, reach, (env.num_envs, env.action_dim)).astype(np.float32)
    return torch.from_numpy(drawn) * env.action_high


def singles(env_id: str, seed: int) -> list[Any]:
    """Gymnasium's environments, begun on the seeds that a Locomotion of as many gives its own."""
    envs = [gymnasium.make(env_id, disable_env_checker=True) for _ in range(NUM_ENVS)]
    for env, word in zip(envs, np.random.SeedSequence([seed]).generate_state(NUM_ENVS), strict=True):
        env.reset(seed=int(word))
    return envs


def assert_steps_equal(step: Step, expected: list[Any], i: int) -> None:
    obs, reward, terminated, truncated, _ = expected
    np.testing.assert_array_equal(step.final_obs[i].numpy(), obs.astype(np.float32))
    np.testing.assert_allclose(step.reward[i].item(), reward, rtol=1e-6, atol=1e-6)
    assert (step.terminated[i].item(), step.truncated[i].item()) == (terminated, truncated)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("env_id", RULES)
def test_every_step_equals_gymnasium(env_id: str, threads: int) -> None:
    """Observations to the last bit, through the ends of episodes; rewards to float32's precision."""
    env, reference = Locomotion(env_id, NUM_ENVS, threads=threads), singles(env_id, 7)
    env.reset(7)
    rng = np.random.default_rng(threads)
    ends = 0
    for _ in range(70):
        given = actions(env, rng)
        step = env.step(given)
        for i, single in enumerate(reference):
            expected = single.step(given[i].numpy())
            assert_steps_equal(step, expected, i)
            if expected[2] or expected[3]:
                ends += 1
                first, _ = single.reset()
                np.testing.assert_array_equal(step.obs[i].numpy(), first.astype(np.float32))
            else:
                assert torch.equal(step.obs[i], step.final_obs[i])
    assert (ends > 0) == (env_id in FALLING)
    env.close()


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Swimmer-v4"])
def test_a_thousand_steps_are_truncated_with_gymnasiums_return(env_id: str) -> None:
    env, single = Locomotion(env_id, 1), gymnasium.make(env_id)
    (word,) = np.random.SeedSequence([3]).generate_state(1)
    single.reset(seed=int(word))
    env.reset(3)
    rng = np.random.default_rng(0)
    ours = theirs = 0.0
    for count in range(1, 1001):
        given = actions(env, rng, reach=1.0)
        step, expected = env.step(given), single.step(given[0].numpy())
        ours, theirs = ours + step.reward.item(), theirs + float(expected[1])
        assert not step.terminated.any()
        assert step.truncated.item() == expected[3] == (count == 1000)
    assert ours == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_array_equal(step.final_obs[0].numpy(), expected[0].astype(np.float32))
    assert not torch.equal(step.obs, step.final_obs)
    assert not env.step(given).truncated.any()


def test_falling_on_the_last_step_is_both_terminated_and_truncated() -> None:
    env = Locomotion("Hopper-v5", 1)
    env.reset(1)
    push = torch.ones(1, 3)
    length = next(count for count in range(1, 200) if env.step(push).terminated.item())
    env.reset(1)
    env._limit = length
    steps = [env.step(push) for _ in range(length)]
    assert not any(step.truncated.item() for step in steps[:-1])
    assert steps[-1].terminated.item()
    assert steps[-1].truncated.item()


@pytest.mark.parametrize("env_id", RULES)
def test_a_saved_state_goes_on_as_if_never_interrupted(env_id: str) -> None:
    env, other = Locomotion(env_id, NUM_ENVS), Locomotion(env_id, NUM_ENVS)
    env.reset(5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        step = env.step(actions(env, rng))
    saved = env.state()
    course = [actions(env, rng) for _ in range(30)]
    expected = [env.step(given) for given in course]
    assert torch.equal(other.load_state(saved), step.obs)
    for given, one in zip(course, expected, strict=True):
        assert all(map(torch.equal, one, other.step(given)))


def test_the_course_depends_on_the_seed() -> None:
    env = Locomotion("Ant-v4", NUM_ENVS)
    first = env.reset(1)
    assert torch.equal(first, env.reset(1))
    assert not torch.equal(first, env.reset(2))
    assert not torch.equal(first[0], first[1])


def test_tensors_given_out_are_not_written_again() -> None:
    env = Locomotion("Hopper-v5", NUM_ENVS)
    obs = env.reset(1)
    kept = [(obs, obs.clone())]
    rng = np.random.default_rng(0)
    for _ in range(60):
        kept += [(values, values.clone()) for values in env.step(actions(env, rng))]
    assert all(torch.equal(given, copy) for given, copy in kept)


def test_gymnasiums_own_backend_takes_the_same_course() -> None:
    """Both draw an environment's seed alike, so that either may stand in for the other."""
    env = Locomotion("Hopper-v5", NUM_ENVS)
    group = EnvGroup(Share(gymnasium.registry["Hopper-v5"], 0, NUM_ENVS))
    seeds = np.random.SeedSequence([4]).generate_state(NUM_ENVS)
    np.testing.assert_array_equal(env.reset(4).numpy(), group.reset([int(word) for word in seeds]))
    rng = np.random.default_rng(0)
    for _ in range(60):
        given = actions(env, rng, reach=1.0)
        ours, theirs = env.step(given), group.step(given.numpy())
        np.testing.assert_array_equal(ours.obs.numpy(), theirs.obs)
        np.testing.assert_array_equal(ours.final_obs.numpy(), theirs.final_obs)
    group.close()


def test_the_catalogues_bodies_are_stepped_by_mujoco_on_torchs_threads() -> None:
    assert set(RULES) == {entry.id for entry in CATALOGUE.values() if entry.backends[0] == "mujoco"}
    torch.set_num_threads(2)
    assert make_vector_env("HalfCheetah-v5", 4).threads == 2  # type: ignore[attr-defined]
    assert make_vector_env("HalfCheetah-v5", 1).threads == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Ant-v5"])
def test_a_body_that_mujoco_gives_up_on_is_named(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = Locomotion(env_id, 2)
    env.reset(1)
    env.step(torch.zeros(2, env.action_dim))

    def give_up(*args: Any) -> None:
        raise PhysicsError(1, "mj_stackAlloc: out of memory")

    monkeypatch.setattr(env._physics, "step", give_up)
    with pytest.raises(EnvironmentCrashedError, match=rf"{env_id} \(environment 1\) crashed at step 2 .*out of memory"):
        env.step(torch.zeros(2, env.action_dim))


def test_what_mujoco_raises_in_a_thread_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Locomotion("Ant-v5", 2, threads=2)
    env.reset(1)

    def fail(*args: Any) -> None:
        raise mujoco.FatalError("stack overflow")

    monkeypatch.setattr(mujoco, "mj_step", fail)
    with pytest.raises(EnvironmentCrashedError, match="stack overflow"):
        env.step(torch.zeros(2, env.action_dim))
    env.close()


def test_a_missing_mujoco_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for check in (environment_check, lambda env_id: make_vector_env(env_id, 1)):
        with pytest.raises(EnvError, match="Ant-v5 needs the Python package 'mujoco', which is not installed"):
            check("Ant-v5")


def test_making_a_body_leaves_no_file_and_no_word(tmp_path: Path) -> None:
    script = "from podracer_core.envs.locomotion import Locomotion; Locomotion('HalfCheetah-v5', 2).reset(1)"
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r}); {script}"]
    done = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == ("", "", [])


def test_checking_a_body_imports_nothing_heavy() -> None:
    script = (
        "import sys; from podracer_core.envs.known import environment_check; environment_check('Ant-v5')\n"
        "assert not {'torch', 'gymnasium', 'mujoco', 'warp'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])


@pytest.mark.parametrize("env_id", RULES)
def test_the_rules_are_the_same_for_tensors_as_for_arrays(env_id: str) -> None:
    """From places about the model's own, so that some stand and some do not."""
    env, rules, rng, n = Locomotion(env_id, 1), RULES[env_id], np.random.default_rng(0), 200
    env.reset(0)
    physics = env._physics
    qpos, qvel = (values + rng.normal(0, 0.2, (n, values.shape[1])) for values in (physics.qpos, physics.qvel))
    fields = {name: rng.normal(0, 2, (n, *values.shape[1:])) for name, values in physics.fields.items()}
    velocity, ctrl = rng.normal(0, 3, n), rng.normal(0, 1, (n, env.action_dim))
    healthy = rules.healthy(qpos, qvel) if rules.healthy else np.ones(n, np.bool_)
    reward = rules.reward(velocity, ctrl, healthy, fields.get("cfrc_ext"))
    obs = rules.observe(qpos, qvel, fields)
    place, speed = torch.from_numpy(qpos), torch.from_numpy(qvel)
    tensors = {name: torch.from_numpy(values) for name, values in fields.items()}
    standing = rules.healthy(place, speed) if rules.healthy else torch.ones(n, dtype=torch.bool)
    paid = rules.reward(torch.from_numpy(velocity), torch.from_numpy(ctrl), standing, tensors.get("cfrc_ext"))
    np.testing.assert_array_equal(standing.numpy(), healthy)
    np.testing.assert_allclose(paid.numpy(), reward, rtol=1e-12)
    np.testing.assert_array_equal(torch.cat(rules.observed(place, speed, tensors), 1).float().numpy(), obs)
    assert not rules.healthy or 0 < healthy.sum() < n


def test_ppo_learns_to_stand_longer_and_hop() -> None:
    hp = complete("ppo", CATALOGUE["Hopper-v5"].defaults["ppo"], {"num_minibatches": 8, "num_epochs": 4})
    agent = PPO(make_vector_env("Hopper-v5", 16), hp, seed=1)
    returns = [agent.iterate(1.0).returns.mean() for _ in range(6)]
    assert returns[-1] > 2 * returns[0], returns


@pytest.mark.parametrize("env_id", OLD_FASHIONED)
@pytest.mark.parametrize("make", [make_single, lambda env_id: start(registered_spec(env_id))], ids=["play", "train"])
def test_what_the_compiler_finds_old_fashioned_is_neither_printed_nor_written(
    env_id: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    gymnasium.make(env_id).close()
    assert "settotalmass" in capfd.readouterr().err
    (log,) = tmp_path.iterdir()
    log.unlink()
    make(env_id).close()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
