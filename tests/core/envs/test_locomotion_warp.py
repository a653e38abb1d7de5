"""MuJoCo bodies under mujoco-warp, on warp's CPU device, against Gymnasium's own single environments.

The first run on a machine compiles the kernels, in some 45 s of CPU time; warp keeps them.
"""

import functools
import gc
import weakref
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
import torch

from podracer_core.agents.ppo import PPO
from podracer_core.envs.backends import Choice
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.locomotion import load_model
from podracer_core.envs.locomotion_rules import RULES
from podracer_core.envs.vector_env import Step, VectorEnv, make_vector_env
from podracer_core.errors import CheckpointError
from podracer_core.hyperparameters import complete
from podracer_core.progress import Directive, Outcome
from tests.core.making import make_plan, run_pod

physics_module = pytest.importorskip(
    "podracer_core.envs.locomotion_warp_physics", reason="mujoco-warp is not installed", exc_type=ImportError
)
pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")

NUM_ENVS = 4


def make(env_id: str, num_envs: int = NUM_ENVS) -> VectorEnv:
    return make_vector_env(env_id, num_envs, "cpu", backend="mujoco-warp")


@functools.cache
def shared(env_id: str) -> VectorEnv:
    """For tests that reset it first: making one takes longer than most of them."""
    return make(env_id)


def actions(env: VectorEnv, rng: np.random.Generator, reach: float = 1.2) -> torch.Tensor:
    """At random, up to a fifth beyond the bounds."""
    assert env.action_high is not None
    drawn = rng.uniform(-reach, reach, (env.num_envs, env.action_dim)).astype(np.float32)
    return torch.from_numpy(drawn) * env.action_high


def put_where_they_are(env: VectorEnv, singles: list[Any]) -> None:
    """Each body in the place of one of Gymnasium's, as it is in the midst of an episode."""
    rules, data = RULES[env.env_id], [single.unwrapped.data for single in singles]
    mass = singles[0].unwrapped.model.body_mass
    forward_x = {
        "joint": lambda one: one.qpos[0],
        "torso": lambda one: one.xpos[1, 0],
        "mass": lambda one: one.xipos[:, 0] @ mass / mass.sum(),
    }[rules.forward_of]
    places = {
        "qpos": np.stack([one.qpos for one in data]),
        "qvel": np.stack([one.qvel for one in data]),
        "warmstart": np.stack([one.qacc_warmstart for one in data]),
        "x": np.array([forward_x(one) for one in data]),
    }
    env.load_state(env.state() | {name: torch.tensor(place).float() for name, place in places.items()})


@pytest.mark.parametrize("env_id", [env_id for env_id in RULES if env_id not in ("HalfCheetah-v4", "Swimmer-v4")])
def test_every_step_along_gymnasiums_course_equals_gymnasium_to_float32(env_id: str) -> None:
    """Humanoid a little less: there Gymnasium's solver is another, and stops before it is done."""
    env, rng = shared(env_id), np.random.default_rng(1)
    singles = [gymnasium.make(env_id, disable_env_checker=True) for _ in range(NUM_ENVS)]
    for seed, single in enumerate(singles):
        single.reset(seed=seed)
    env.reset(0)
    tolerance = 5e-3 if env_id.startswith("Humanoid") else 1e-3
    ends = 0
    for _ in range(50):
        put_where_they_are(env, singles)
        given = actions(env, rng)
        step = env.step(given)
        for i, single in enumerate(singles):
            obs, reward, terminated, _, _ = single.step(given[i].numpy())
            np.testing.assert_allclose(step.final_obs[i].numpy(), obs, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(step.reward[i].item(), reward, rtol=tolerance, atol=tolerance)
            assert step.terminated[i].item() == terminated
            if terminated:
                ends += 1
                single.reset()
    assert (ends > 0) == (RULES[env_id].healthy is not None)
    assert env.notes() == []


@pytest.mark.parametrize("env_id", ["Hopper-v5", "Ant-v5"])
def test_episodes_start_as_the_rules_draw_them(env_id: str) -> None:
    env, rules = make(env_id, 400), RULES[env_id]
    obs, rng = env.reset(3).double().numpy(), np.random.default_rng(0)
    state = env.state()
    nq, nv = state["qpos"].shape[1], state["qvel"].shape[1]
    expected = [rules.draw_start(rng, np.zeros(nq), nv) for _ in range(4_000)]
    center = gymnasium.make(env_id).unwrapped.init_qpos  # type: ignore[attr-defined]
    for ours, theirs in zip(
        (state["qpos"].numpy() - center, state["qvel"].numpy()), map(np.stack, zip(*expected, strict=True)), strict=True
    ):
        assert abs(ours.mean()) < 0.1 * rules.noise
        assert ours.std() == pytest.approx(theirs.std(), rel=0.05)
        assert np.abs(ours).max() == pytest.approx(np.abs(theirs).max(), rel=0.3)
    assert len(np.unique(obs[:, 0])) > 390
    np.testing.assert_array_equal(obs[:, : nq - rules.unseen], state["qpos"].double().numpy()[:, rules.unseen :])


def test_fallen_bodies_start_anew_in_the_same_step_and_others_go_on() -> None:
    env, rng = shared("Hopper-v5"), np.random.default_rng(0)
    env.reset(1)
    ends, length = 0, np.zeros(NUM_ENVS, np.int64)
    for _ in range(150):
        step = env.step(actions(env, rng))
        length += 1
        fell = step.terminated.numpy()
        height, angle = step.final_obs[:, 0].numpy(), step.final_obs[:, 1].numpy()
        np.testing.assert_array_equal(fell, ~((height > 0.7) & (np.abs(angle) < 0.2)))
        assert not step.truncated.any()
        assert torch.equal(step.obs[~step.terminated], step.final_obs[~step.terminated])
        starts = step.obs[step.terminated].numpy()
        assert np.all(np.abs(starts - [1.25, *[0.0] * 10]) <= 5.01e-3)
        length[fell] = 0
        np.testing.assert_array_equal(env.state()["elapsed"].numpy(), length)
        ends += int(fell.sum())
    assert ends > 5


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Ant-v5"])
def test_the_thousandth_step_is_truncated_and_only_that_one(env_id: str) -> None:
    env = shared(env_id)
    env.reset(1)
    late = torch.tensor([997, 998, 0, 999])
    env.load_state(env.state() | {"elapsed": late})
    for count in (1, 2, 3, 4):
        step = env.step(torch.zeros(NUM_ENVS, env.action_dim))
        assert step.truncated.tolist() == [count == 3, count == 2, False, count == 1]
        assert not step.terminated.any()
        changed = (step.obs != step.final_obs).any(1)
        assert torch.equal(changed, step.truncated)


def test_falling_on_the_last_step_is_both_terminated_and_truncated() -> None:
    env = shared("Hopper-v5")
    env.reset(1)
    push = torch.ones(NUM_ENVS, 3)
    length = next(count for count in range(1, 200) if env.step(push).terminated[0].item())
    env.reset(1)
    env.load_state(env.state() | {"elapsed": torch.full((NUM_ENVS,), 1000 - length)})
    steps = [env.step(push) for _ in range(length)]
    assert not any(step.truncated[0].item() for step in steps[:-1])
    assert steps[-1].terminated[0].item()
    assert steps[-1].truncated[0].item()


def course(env: VectorEnv, seed: int, length: int = 60) -> list[Step]:
    rng = np.random.default_rng(seed)
    return [env.step(actions(env, rng)) for _ in range(length)]


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Hopper-v5", "Ant-v5", "Humanoid-v5"])
def test_a_saved_state_goes_on_as_if_never_interrupted_and_a_seed_tells_all(env_id: str) -> None:
    env, other = shared(env_id), make(env_id)
    first = env.reset(5)
    before = course(env, 1)
    saved = env.state()
    after = course(env, 2)
    assert any(step.terminated.any() for step in after) == (RULES[env_id].healthy is not None)
    assert torch.equal(other.load_state(saved), before[-1].obs)
    for one, two in zip(after, course(other, 2), strict=True):
        assert all(map(torch.equal, one, two))
    assert torch.equal(first, other.reset(5))
    for one, two in zip(before, course(other, 1), strict=True):
        assert all(map(torch.equal, one, two))
    assert not torch.equal(first, other.reset(6))


def test_tensors_given_out_are_not_written_again() -> None:
    env = shared("Hopper-v5")
    kept = [env.reset(1)] + [values for step in course(env, 0, 40) for values in step]
    copies = [values.clone() for values in kept]
    course(env, 1, 40)
    env.reset(2)
    assert all(map(torch.equal, kept, copies))


@pytest.mark.parametrize(
    ("env_id", "bad"), [("HalfCheetah-v5", float("nan")), ("Hopper-v5", float("inf")), ("Humanoid-v5", 1e12)]
)
def test_a_body_that_diverges_is_named_and_starts_anew(env_id: str, bad: float) -> None:
    env, healthy = make(env_id), shared(env_id)
    before = env.reset(1)
    healthy.reset(1)
    state = env.state()
    state["qvel"][2, 4] = bad
    env.load_state(state)
    given = actions(env, np.random.default_rng(0), 1.0)
    step, expected = env.step(given), healthy.step(given)
    assert step.truncated.tolist() == [False, False, True, False]
    assert step.reward[2].item() == 0.0
    assert torch.equal(step.final_obs[2], before[2])
    others = [0, 1, 3]
    assert all(torch.equal(ours[others], theirs[others]) for ours, theirs in zip(step, expected, strict=True))
    (note,) = env.notes()
    assert f"{env_id} diverged 1 times, most often in environment 2, last at step 1 of an episode" in note
    assert str(given[2].tolist()) in note
    assert env.notes() == []
    later = course(env, 3, 10)
    assert all(values.isfinite().all() for one in later for values in (one.obs, one.reward, one.final_obs))
    assert not any(one.truncated.any() for one in later)


def test_contacts_beyond_the_room_for_them_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(physics_module, "CONTACTS", 1)
    env = make("HalfCheetah-v5")
    env.reset(1)
    course(env, 0)
    (note,) = env.notes()
    assert "bodies of HalfCheetah-v5 touched more than the GPU's physics have room for" in note
    course(env, 0)
    assert env.notes() == []


def test_a_closed_environment_frees_its_bodies_without_the_garbage_collector() -> None:
    env = make("HalfCheetah-v5")
    env.step(env.reset(1)[:, :6])
    bodies = weakref.ref(env._physics)  # type: ignore[attr-defined]
    env.close()
    env.close()
    gc.disable()
    try:
        del env
        assert bodies() is None
    finally:
        gc.enable()


def test_the_shared_model_is_left_as_it_is() -> None:
    before = load_model("humanoid.xml").opt.solver
    shared("Humanoid-v5")
    assert load_model("humanoid.xml").opt.solver == before == mujoco.mjtSolver.mjSOL_PGS


def test_a_paused_pod_goes_on_exactly_as_if_never_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podracer_core.envs.vector_env.best_backend", lambda *args: Choice("mujoco-warp"))
    plan = make_plan(tmp_path / "whole", "Hopper-v5", num_envs=4, env_steps=1024, eval_episodes=4)
    _, whole = run_pod(plan)
    parts = plan.model_copy(update={"directory": str(tmp_path / "parts")})
    directives = iter([Directive.CONTINUE, Directive.PAUSE])
    _, paused = run_pod(parts, directive=lambda: next(directives, Directive.PAUSE))
    assert (paused.outcome, paused.env_steps) == (Outcome.PAUSED, 512)
    _, result = run_pod(parts.model_copy(update={"resume_from": paused.state_path}))
    assert whole.evaluation is not None
    assert result.evaluation == whole.evaluation


def test_a_state_of_the_threads_is_refused_and_theirs_of_ours() -> None:
    warp, threads = shared("Hopper-v5"), make_vector_env("Hopper-v5", NUM_ENVS)
    threads.reset(1)
    for env, other in ((warp, threads), (threads, warp)):
        with pytest.raises(CheckpointError, match="is of bodies stepped by another backend"):
            env.load_state(other.state())


def test_ppo_learns_to_stand_longer_and_hop() -> None:
    hp = complete("ppo", CATALOGUE["Hopper-v5"].defaults["ppo"], {"num_minibatches": 8, "num_epochs": 4})
    agent = PPO(make("Hopper-v5", 16), hp, seed=1)
    returns = [agent.iterate(1.0).returns.mean() for _ in range(6)]
    assert returns[-1] > 2 * returns[0], returns
