"""The batched environments against Gymnasium's own, step by step."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.classic_control import ClassicControl
from podracer_core.envs.classic_dynamics import DYNAMICS
from podracer_core.envs.vector_env import make_vector_env

ENV_IDS = list(DYNAMICS)
NUM_ENVS = 3
VELOCITY = {"CartPole-v1": 3, "Acrobot-v1": 5, "Pendulum-v1": 2}  # of obs; 1 for the cars
STATES = {
    "CartPole-v1": [(-2.4, 2.4), (-6, 6), (-0.21, 0.21), (-6, 6)],
    "Acrobot-v1": [(-np.pi, np.pi), (-np.pi, np.pi), (-4 * np.pi, 4 * np.pi), (-9 * np.pi, 9 * np.pi)],
    "MountainCar-v0": [(-1.2, 0.6), (-0.07, 0.07)],
    "MountainCarContinuous-v0": [(-1.2, 0.6), (-0.07, 0.07)],
    "Pendulum-v1": [(-80, 80), (-8, 8)],
}  # bounds of what each state variable may be
Policy = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def policies(env_id: str) -> dict[str, Policy]:
    """Ways to act: at random, held at an end, pumping energy, balancing, and far out of bounds."""
    entry = CATALOGUE[env_id]
    v = VELOCITY.get(env_id, 1)
    if entry.action_kind == "discrete":
        last = entry.action_dim - 1
        return {
            "random": lambda obs, rng: rng.integers(0, last + 1, len(obs)),
            "lowest": lambda obs, rng: np.zeros(len(obs), np.int64),
            "highest": lambda obs, rng: np.full(len(obs), last),
            "pump": lambda obs, rng: np.where(obs[:, v] > 0, last, 0),
            "balance": lambda obs, rng: np.where(obs @ np.resize([0.1, 0.3, 1.0, 0.5], obs.shape[1]) > 0, last, 0),
        }
    extremes = np.array([-1e15, -1e3, -2.0, -1.0, -1e-30, 0.0, 1.0, 2.0, 1e3])
    return {
        "random": lambda obs, rng: rng.uniform(-2, 2, (len(obs), 1)),
        "still": lambda obs, rng: np.zeros((len(obs), 1)),
        "pump": lambda obs, rng: np.sign(obs[:, v : v + 1]),
        "extreme": lambda obs, rng: rng.choice(extremes, (len(obs), 1)),
    }


def actions_tensor(env_id: str, actions: np.ndarray) -> torch.Tensor:
    kind = CATALOGUE[env_id].action_kind
    return torch.from_numpy(np.asarray(actions)).to(torch.int64 if kind == "discrete" else torch.float32)


def close(ours: Any, theirs: Any) -> bool:
    """Equal within 1e-5, relative and absolute; numpy's own assertion would take most of the test's time."""
    return bool((abs(ours - theirs) <= 1e-5 + 1e-5 * abs(theirs)).all())


class Reference:
    """As many single Gymnasium environments as ours has, started from our states."""

    def __init__(self, env: ClassicControl) -> None:
        self.ours = env
        self.singles = [gymnasium.make(env.env_id) for _ in range(env.num_envs)]
        for i in range(env.num_envs):
            self.restart(i)

    def restart(self, i: int) -> None:
        self.singles[i].reset(seed=0)
        self.synchronise(i)

    def synchronise(self, i: int) -> None:
        self.singles[i].unwrapped.state = self.ours.state()["state"][:, i].numpy().copy()

    def step(self, actions: torch.Tensor) -> list[tuple[Any, ...]]:
        array = actions.numpy()
        return [single.step(array[i])[:4] for i, single in enumerate(self.singles)]

    def close(self) -> None:
        for single in self.singles:
            single.close()


def compare(env_id: str, arrays: Any, seed: int, policy: Policy, num_steps: int, resync: bool) -> np.ndarray:
    """Steps both side by side and asserts equality; returns [terminated, truncated] counts.

    resync: start Gymnasium's every step from our state, so that a chaotic system cannot grow rounding errors
    """
    env = ClassicControl(env_id, NUM_ENVS, "cpu", arrays)
    rng = np.random.default_rng(seed)
    obs = env.reset(seed)
    reference = Reference(env)
    ends = np.zeros(2, np.int64)
    for _ in range(num_steps):
        actions = actions_tensor(env_id, policy(obs.numpy(), rng))
        if resync:
            for i in range(NUM_ENVS):
                reference.synchronise(i)
        expected = reference.step(actions)
        obs, reward, terminated, truncated, final_obs = env.step(actions)
        for i, (their_obs, their_reward, their_terminated, their_truncated) in enumerate(expected):
            assert close(final_obs[i].numpy(), their_obs), (final_obs[i], their_obs)
            assert close(reward[i].item(), np.float32(their_reward)), (reward[i], their_reward)
            assert (terminated[i].item(), truncated[i].item()) == (their_terminated, their_truncated)
            if their_terminated or their_truncated:
                ends += (their_terminated, their_truncated)
                reference.restart(i)
            else:
                assert torch.equal(obs[i], final_obs[i])
    reference.close()
    return ends


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize("env_id", ENV_IDS)
@given(seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=5, deadline=None)
def test_every_step_equals_gymnasium(env_id: str, arrays: str, seed: int, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(policies(env_id))))
    compare(env_id, arrays, seed, policies(env_id)[name], num_steps=220, resync=True)


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize("env_id", ENV_IDS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_step_from_any_state_equals_gymnasium(env_id: str, arrays: Any, data: st.DataObject) -> None:
    """From all over the state space and its corners, most of which no policy above reaches."""
    corners = np.array(STATES[env_id])
    fractions = data.draw(st.lists(st.floats(0, 1), min_size=len(corners), max_size=len(corners)))
    state = corners[:, 0] + np.array(fractions) * (corners[:, 1] - corners[:, 0])
    env = ClassicControl(env_id, 1, "cpu", arrays)
    env.reset(0)
    env.load_state({**env.state(), "state": torch.from_numpy(state[:, None])})
    reference = Reference(env)
    name = data.draw(st.sampled_from(sorted(policies(env_id))))
    act = policies(env_id)[name](np.zeros((1, 9)), np.random.default_rng(data.draw(st.integers(0, 99))))
    actions = actions_tensor(env_id, act)
    ((obs, reward, terminated, truncated),) = reference.step(actions)
    step = env.step(actions)
    assert close(step.final_obs[0].numpy(), obs), (step.final_obs, obs)
    assert close(step.reward.item(), np.float32(reward))
    assert (step.terminated.item(), step.truncated.item()) == (terminated, truncated)
    reference.close()


@pytest.mark.parametrize(
    ("env_id", "policy", "kind"),
    [
        ("CartPole-v1", "random", "terminated"),
        ("CartPole-v1", "balance", "truncated"),
        ("Acrobot-v1", "pump", "terminated"),
        ("Acrobot-v1", "highest", "truncated"),
        ("MountainCar-v0", "pump", "terminated"),
        ("MountainCar-v0", "lowest", "truncated"),
        ("MountainCarContinuous-v0", "pump", "terminated"),
        ("MountainCarContinuous-v0", "still", "truncated"),
        ("Pendulum-v1", "random", "truncated"),
    ],
)
@pytest.mark.parametrize("arrays", ["numpy", "torch"])
def test_whole_episodes_end_when_gymnasiums_do(env_id: str, arrays: str, policy: str, kind: str) -> None:
    num_steps = 2 * CATALOGUE[env_id].max_episode_steps + 5
    ends = compare(env_id, arrays, 7, policies(env_id)[policy], num_steps, resync=True)
    assert ends[["terminated", "truncated"].index(kind)] >= 2 * NUM_ENVS


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("env_id", "policy", "num_steps"),
    [
        ("CartPole-v1", "random", 300),
        ("Acrobot-v1", "random", 40),
        ("MountainCar-v0", "pump", 450),
        ("MountainCar-v0", "random", 450),
        ("MountainCarContinuous-v0", "random", 1100),
        ("MountainCarContinuous-v0", "pump", 400),
        ("Pendulum-v1", "random", 100),
    ],
)
def test_episodes_left_alone_stay_equal_to_gymnasiums(env_id: str, arrays: str, policy: str, num_steps: int) -> None:
    compare(env_id, arrays, 3, policies(env_id)[policy], num_steps, resync=False)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_spaces_and_limits_are_gymnasiums(env_id: str) -> None:
    env, single = make_vector_env(env_id, 2), gymnasium.make(env_id)
    assert isinstance(env, ClassicControl)
    assert env.reset(0).shape == (2, *single.observation_space.shape)
    assert env.max_episode_steps == single.spec.max_episode_steps
    if env.action_kind == "discrete":
        assert env.action_dim == single.action_space.n
    else:
        np.testing.assert_array_equal(env.action_low.numpy(), single.action_space.low)
        np.testing.assert_array_equal(env.action_high.numpy(), single.action_space.high)
    single.close()


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_episodes_start_where_gymnasiums_do(env_id: str) -> None:
    ours = ClassicControl(env_id, 4000).reset(5).numpy()
    single = gymnasium.make(env_id)
    theirs = np.stack([single.reset(seed=i)[0] for i in range(1000)])
    single.close()
    np.testing.assert_allclose(ours.mean(0), theirs.mean(0), atol=0.1 * (np.ptp(theirs, 0).max() + 1e-6))
    np.testing.assert_allclose(ours.min(0), theirs.min(0), atol=0.02 * np.ptp(theirs, 0).max())
    np.testing.assert_allclose(ours.max(0), theirs.max(0), atol=0.02 * np.ptp(theirs, 0).max())


def course(env: ClassicControl, seed: int, num_steps: int) -> list[torch.Tensor]:
    """Everything `num_steps` random steps give, from wherever `env` stands."""
    rng = np.random.default_rng(seed)
    act = policies(env.env_id)["random"]
    out: list[torch.Tensor] = []
    for _ in range(num_steps):
        out.extend(env.step(actions_tensor(env.env_id, act(np.zeros((env.num_envs, 9)), rng))))
    return out


def same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_the_same_seed_gives_the_same_course_and_another_does_not(env_id: str, arrays: Any) -> None:
    env, other = (ClassicControl(env_id, 4, "cpu", arrays) for _ in range(2))
    env.reset(1)
    other.reset(1)
    first = course(env, 0, 210)
    assert same(first, course(other, 0, 210))
    other.reset(2)
    assert not same(first, course(other, 0, 210))


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_saved_state_goes_on_exactly(env_id: str, arrays: Any) -> None:
    env, other = (ClassicControl(env_id, 4, "cpu", arrays) for _ in range(2))
    env.reset(1)
    last_obs = course(env, 0, 150)[-5]
    saved = env.state()
    went_on = course(env, 1, 210)
    assert torch.equal(other.load_state(saved), last_obs)
    assert same(went_on, course(other, 1, 210))


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_tensors_given_out_are_not_written_to_again(env_id: str, arrays: Any) -> None:
    env = ClassicControl(env_id, 4, "cpu", arrays)
    first = env.reset(1)
    given = [first, *course(env, 0, 60)]
    before = [tensor.clone() for tensor in given]
    course(env, 1, 60)
    assert same(before, given)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_environments_in_a_batch_do_not_share_their_starts(env_id: str) -> None:
    assert len(ClassicControl(env_id, 64).reset(0)[:, 0].unique()) > 60
