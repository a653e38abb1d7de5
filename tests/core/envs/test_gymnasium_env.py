"""Gymnasium's own environments behind our contract, in this process and in others."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces.utils import flatten

from podracer_core.envs.env_group import EnvGroup, Share
from podracer_core.envs.gymnasium_env import GymnasiumVectorEnv, best_processes
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.errors import (
    EnvError,
    EnvironmentCrashedError,
    UnknownEnvironmentError,
    UnsupportedSpaceError,
)

REAL_IDS = ["FrozenLake-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1", "CartPole-v1"]
SAMPLES = [
    "Crashing", "CrashingReset", "Dying", "Slow", "StartsAtMinusOne", "Matrix",
    "ManyChoices", "Switches", "ByteChoice", "Integers", "OneNumber", "TupleActions", "NothingToDo", "NothingToSee",
    "Unbounded", "UnboundedIntegers", "LargestFloats", "Camera", "Cube", "CameraAndSpeed", "Words",
    "NumberedParts", "NotANumber", "StartsNowhere", "Far",
]  # fmt: skip


@pytest.fixture(autouse=True)
def samples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    for name in SAMPLES:
        gymnasium.register(f"podracer-tests/{name}-v0", entry_point=f"sample_envs:{name}", max_episode_steps=50)
    yield
    for name in SAMPLES:
        del gymnasium.registry[f"podracer-tests/{name}-v0"]


@pytest.fixture
def make() -> Iterator[object]:
    """GymnasiumVectorEnv, closed when the test ends."""
    made: list[GymnasiumVectorEnv] = []

    def build(name: str, num_envs: int, processes: int | None = 1) -> GymnasiumVectorEnv:
        env_id = f"podracer-tests/{name}-v0" if name in SAMPLES else name
        made.append(GymnasiumVectorEnv(env_id, num_envs, "cpu", processes))
        return made[-1]

    yield build
    for env in made:
        env.close()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("env_id", REAL_IDS)
def test_every_step_equals_the_single_environments(make, env_id: str, processes: int) -> None:
    env = make(env_id, 3, processes)
    singles = [gymnasium.make(env_id) for _ in range(3)]
    seeds = np.random.SeedSequence([11]).generate_state(3).tolist()
    space = singles[0].observation_space
    first = [flatten(space, single.reset(seed=seed)[0]) for single, seed in zip(singles, seeds, strict=True)]
    np.testing.assert_array_equal(env.reset(11).numpy(), first)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(250):
        actions = rng.integers(0, env.action_dim, 3)
        step = env.step(torch.from_numpy(actions))
        for i, single in enumerate(singles):
            obs, reward, terminated, truncated, _ = single.step(actions[i])
            np.testing.assert_array_equal(step.final_obs[i].numpy(), flatten(space, obs))
            assert step.reward[i].item() == np.float32(reward)
            assert (step.terminated[i].item(), step.truncated[i].item()) == (terminated, truncated)
            if terminated or truncated:
                ends += 1
                obs, _ = single.reset()
            np.testing.assert_array_equal(step.obs[i].numpy(), flatten(space, obs))
    assert ends or env_id == "CliffWalking-v1"  # which nothing truncates, and chance does not solve
    assert step.obs.dtype == step.reward.dtype == torch.float32
    for single in singles:
        single.close()


def test_images_stay_bytes_and_come_once_where_no_episode_ends(make) -> None:
    env = make("Camera", 3, processes=2)
    assert env.reset(1).shape == (3, 3, 6, 7)
    steps = [env.step(torch.zeros(3, dtype=torch.int64)) for _ in range(4)]
    assert {step.obs.dtype for step in steps} == {torch.uint8}
    assert [step.obs is step.final_obs for step in steps] == [True, True, True, False]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_crash_names_the_environment_the_step_and_the_action(make, processes: int) -> None:
    env = make("Crashing", 4, processes)
    env.reset(0)
    for _ in range(4):  # a whole episode
        env.step(torch.tensor([0, 0, 0, 0]))
    env.step(torch.tensor([2, 2, 2, 2]))
    env.step(torch.tensor([2, 2, 2, 2]))
    message = r"podracer-tests/Crashing-v0 \(environment 3\) crashed at step 3 of an episode, on action 2: Zero"
    with pytest.raises(EnvironmentCrashedError, match=message):
        env.step(torch.tensor([0, 1, 0, 2]))


def test_a_crash_at_the_start_of_an_episode_is_told(make) -> None:
    message = "crashed while starting an episode: RuntimeError: no level left"
    with pytest.raises(EnvironmentCrashedError, match=message):
        make("CrashingReset", 2).reset(0)


@pytest.mark.parametrize("name", ["Crashing", "CrashingReset"])
def test_what_crashes_while_its_steps_are_timed_is_told_where_it_crashes_in_training(
    make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    env = make(name, 4, processes=None)

    def train() -> None:
        env.reset(0)
        for _ in range(3):
            env.step(torch.full((4,), 2))

    with pytest.raises(EnvironmentCrashedError, match=rf"{name}-v0 \(environment 0\) crashed"):
        train()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    ("action", "given"), [(2, "the reward nan"), (1, "an observation with -inf in it")], ids=["reward", "obs"]
)
def test_what_is_not_finite_names_the_environment_the_step_and_the_action(
    make, action: int, given: str, processes: int
) -> None:
    env = make("NotANumber", 4, processes)
    env.reset(0)
    for _ in range(6):  # a whole episode, and two steps
        env.step(torch.tensor([0, 0, 0, 0]))
    message = rf"NotANumber-v0 \(environment 3\) gave {given} at step 3 of an episode, on action {action}\."
    with pytest.raises(EnvironmentCrashedError, match=message):
        env.step(torch.tensor([0, 0, 0, action]))


def test_a_first_observation_that_is_not_finite_is_told(make) -> None:
    with pytest.raises(EnvironmentCrashedError, match="gave an observation with nan in it while starting an episode"):
        make("StartsNowhere", 2).reset(0)


def test_large_numbers_are_numbers(make) -> None:
    env = make("Far", 2)
    env.reset(0)
    step = env.step(torch.zeros(2, dtype=torch.int64))
    assert step.reward.isfinite().all()


def test_a_process_that_dies_is_told(make) -> None:
    env = make("Dying", 2, processes=2)
    env.reset(0)
    env.step(torch.zeros(2, dtype=torch.int64))
    with pytest.raises(EnvironmentCrashedError, match="Dying-v0 crashed: the process it ran in ended with code 3"):
        env.step(torch.zeros(2, dtype=torch.int64))


def test_processes_end_when_their_parent_is_killed() -> None:
    script = (
        "from podracer_core.envs.gymnasium_env import GymnasiumVectorEnv\n"
        "env = GymnasiumVectorEnv('FrozenLake-v1', 4, 'cpu', 2); env.reset(0)\n"
        "print(*[group._process.pid for group in env._groups], flush=True); input()"
    )
    root = str(Path(__file__).parents[3])
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, text=True
    )
    with parent:
        assert parent.stdout is not None
        children = [os.pidfd_open(int(pid)) for pid in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    assert len(children) == 2
    for child in children:
        assert select.select([child], [], [], 20)[0], "a child outlived its parent"
        os.close(child)


def test_close_ends_the_processes_and_may_be_called_twice(make) -> None:
    env = make("FrozenLake-v1", 2, processes=2)
    processes = [group._process for group in env._groups]
    env.close()
    env.close()
    assert len(processes) == 2
    assert all(process.returncode is not None for process in processes)


def test_discrete_actions_count_from_zero_whatever_the_space_starts_at(make) -> None:
    env = make("StartsAtMinusOne", 3)
    env.reset(0)
    assert env.step(torch.tensor([0, 1, 2])).reward.tolist() == [-1.0, 0.0, 1.0]


def test_continuous_actions_are_shaped_and_clipped_to_their_bounds(make) -> None:
    env = make("Matrix", 2)
    env.reset(0)
    assert env.action_dim == 4
    assert env.action_low.tolist() == [-3, 0, 0, 0]
    assert env.action_high.tolist() == [5, 1, 2, 1]
    step = env.step(torch.tensor([[-9.0, 0.5, 1.0, 0.0], [9.0, 9.0, 9.0, 9.0]]))
    assert step.reward.tolist() == [-1.5, 9.0]


@pytest.mark.parametrize("processes", [1, 2])
def test_several_choices_are_counted_from_zero_and_sent_in_the_space_s_shape_and_type(make, processes: int) -> None:
    env = make("ManyChoices", 2, processes)
    env.reset(0)
    assert (env.action_kind, env.nvec, env.action_dim) == ("multidiscrete", (2, 3, 1, 4), 10)
    step = env.step(torch.tensor([[0, 0, 0, 0], [1, 2, 0, 3]]))
    assert step.reward.tolist() == [-1 + 7, 1 + 1 + 7 + 3]


def test_switches_are_choices_of_two(make) -> None:
    env = make("Switches", 2)
    env.reset(0)
    assert (env.action_kind, env.nvec, env.action_dim) == ("multidiscrete", (2, 2, 2, 2), 8)
    assert env.step(torch.tensor([[0, 0, 0, 0], [1, 0, 1, 1]])).reward.tolist() == [0, 3]


def test_a_discrete_space_s_own_type_is_kept(make) -> None:
    env = make("ByteChoice", 3)
    env.reset(0)
    assert env.step(torch.tensor([0, 1, 2])).reward.tolist() == [0, 1, 2]


def test_integers_are_rounded_within_their_bounds(make) -> None:
    env = make("Integers", 2)
    env.reset(0)
    assert env.action_kind == "continuous"
    step = env.step(torch.tensor([[-2.6, 0.4], [5.4, 9.7]]))
    assert step.reward.tolist() == [-3, 15]


def test_a_number_that_is_no_vector_is_acted_with_and_seen(make) -> None:
    env = make("OneNumber", 2)
    assert env.reset(0).tolist() == [[0], [0]]
    step = env.step(torch.tensor([[0.5], [4.0]]))
    assert step.reward.tolist() == [0.5, 3]
    assert step.obs.tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("TupleActions", r"TupleActions-v0 has the action space Tuple\(Discrete\(2\), Discrete\(3\)\); agents act in"),
        ("NothingToDo", r"NothingToDo-v0 has the action space Box\(0,\), in which there is nothing to do"),
        ("NothingToSee", r"NothingToSee-v0 observes nothing, Box\(0,\)"),
        ("Unbounded", r"Unbounded-v0 has an unbounded action space, Box\(2,\)"),
        ("UnboundedIntegers", r"UnboundedIntegers-v0 has an unbounded action space, Box\(2,\)"),
        ("LargestFloats", r"LargestFloats-v0 has an unbounded action space, Box\(2,\)"),
        ("Cube", r"Cube-v0 observes images, Box\(6, 6, 6\), and nothing tells which axis"),
        ("CameraAndSpeed", r"CameraAndSpeed-v0 observes Dict\(camera: .*, of which a part is an image"),
        ("Words", "Words-v0 has a Text space"),
        ("NumberedParts", r"NumberedParts-v0 has a Dict space with keys \[1\]; use texts"),
    ],
)
def test_unsupported_spaces_are_refused_by_name(make, name: str, message: str) -> None:
    with pytest.raises(UnsupportedSpaceError, match=message):
        make(name, 1)


@pytest.mark.parametrize("env_id", ["os:CartPole-v1", "FrozenLake-v99", ""])
def test_ids_that_are_not_registered_are_refused(env_id: str) -> None:
    with pytest.raises(UnknownEnvironmentError):
        make_vector_env(env_id, 1)


def test_an_environment_that_does_not_start_says_why() -> None:
    gymnasium.register("podracer-tests/Absent-v0", entry_point="no_such_package:Env")
    try:
        with pytest.raises(EnvError, match="needs the Python package 'no_such_package', which is not installed"):
            make_vector_env("podracer-tests/Absent-v0", 1)
    finally:
        del gymnasium.registry["podracer-tests/Absent-v0"]


def test_cheap_steps_stay_in_one_process_and_dear_ones_spread() -> None:
    def chosen(env_id: str, num_envs: int, limit: int) -> int:
        return best_processes(EnvGroup(Share(gymnasium.spec(env_id), 0, 1)), num_envs, limit)

    assert chosen("FrozenLake-v1", 8, 2) == 1
    assert chosen("podracer-tests/Slow-v0", 8, 2) == 2
    assert chosen("podracer-tests/Slow-v0", 8, 1) == 1
    assert chosen("podracer-tests/Slow-v0", 1, 4) == 1


def course(env: GymnasiumVectorEnv, num_steps: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    out: list[torch.Tensor] = []
    for _ in range(num_steps):
        out.extend(env.step(torch.from_numpy(rng.integers(0, env.action_dim, env.num_envs))))
    return out


def test_the_course_depends_on_the_seed_and_not_on_the_processes(make) -> None:
    one, two = make("FrozenLake-v1", 3), make("FrozenLake-v1", 3, processes=2)
    one.reset(5)
    two.reset(5)
    first = course(one, 60)
    assert all(map(torch.equal, first, course(two, 60)))
    one.reset(6)
    assert not all(map(torch.equal, first, course(one, 60)))


def test_a_saved_state_starts_the_same_new_episodes_each_time(make) -> None:
    env, other = make("FrozenLake-v1", 3), make("FrozenLake-v1", 3)
    env.reset(5)
    course(env, 7)
    saved = env.state()
    env.load_state(saved)
    other.load_state(saved)
    assert all(map(torch.equal, course(env, 60), course(other, 60)))
