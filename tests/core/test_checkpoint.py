"""Checkpoints: what was saved plays, and what is no checkpoint is refused in a sentence."""

import json
import struct
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from safetensors import safe_open
from safetensors.numpy import save

from podracer_core import load_agent
from podracer_core.agent_metadata import agent_metadata
from podracer_core.agents.ppo import PPO
from podracer_core.agents.training_state import load_state, save_state
from podracer_core.checkpoint import METADATA_KEYS, save_agent
from podracer_core.envs.spaces import SpaceInfo, box, describe_space, discrete
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.errors import CheckpointError
from podracer_core.hyperparameters import complete
from podracer_core.player import Agent
from tests.core.making import make_plan


def learner_of(env_id: str, **hyperparameters: Any) -> PPO:
    """An agent that has trained a little, so that its normaliser and deviations are not the first ones."""
    torch.set_num_threads(1)
    hp = complete("ppo", {"num_steps": 16, "learning_rate": 0.01}, hyperparameters)
    learner = PPO(make_vector_env(env_id, 4), hp, seed=3)
    learner.iterate(1.0)
    return learner


def save_learner(learner: PPO, env_id: str, path: Path) -> Path:
    plan = make_plan(path.parent, env_id=env_id, lineage={"parents": ["a"]})
    tensors = {name: tensor.numpy() for name, tensor in learner.tensors().items()}
    save_agent(path, tensors, agent_metadata(plan, learner.hp, None, None))
    return path


@pytest.mark.parametrize("activation", ["tanh", "relu", "elu", "silu"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_a_loaded_agent_acts_as_the_learner_does(env_id: str, activation: str, tmp_path: Path) -> None:
    learner = learner_of(env_id, activation=activation, norm_obs=True, hidden_size=24)
    agent = load_agent(save_learner(learner, env_id, tmp_path / "agent.safetensors"))
    obs = 3 * torch.randn(64, learner.env.observation_dim)
    expected = learner.act(obs).numpy()
    np.testing.assert_allclose(agent.act(obs), expected, atol=1e-5)
    np.testing.assert_allclose(agent.act(obs.numpy()), expected, atol=1e-5)
    np.testing.assert_allclose(agent.act(obs[0].numpy()), expected[0], atol=1e-5)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_gymnasium_takes_its_actions_of_one_and_of_many(env_id: str, tmp_path: Path) -> None:
    agent = load_agent(save_learner(learner_of(env_id), env_id, tmp_path / "agent.safetensors"))
    env = gymnasium.make(env_id)
    obs, _ = env.reset(seed=0)
    action = agent.act(obs)
    assert env.action_space.contains(action)
    env.step(action)
    many = gymnasium.make_vec(env_id, num_envs=3, vectorization_mode="sync")
    observations, _ = many.reset(seed=0)
    actions = agent.act(observations)
    assert many.action_space.contains(actions)
    many.step(actions)
    env.close()
    many.close()


def test_metadata_is_json_that_any_safetensors_reader_sees(tmp_path: Path) -> None:
    path = save_learner(learner_of("CartPole-v1"), "CartPole-v1", tmp_path / "agent.safetensors")
    with safe_open(path, "numpy") as file:
        metadata = file.metadata()
        assert file.get_tensor("actor.0.weight").shape == (64, 4)
    assert set(metadata) == set(METADATA_KEYS)
    assert metadata["env_id"] == "CartPole-v1"
    assert json.loads(metadata["spaces"])["action"]["n"] == 2
    assert json.loads(metadata["hyperparameters"])["learning_rate"] == 0.01
    assert json.loads(metadata["lineage"]) == {"parents": ["a"]}


def agent_of(observation: SpaceInfo, action: SpaceInfo) -> Agent:
    """A linear policy with random weights."""
    shape = (action.action_dim, observation.flat_dim)
    tensors = {"actor.0.weight": np.random.randn(*shape), "actor.0.bias": np.random.randn(shape[0])}
    both = {"observation": observation.model_dump(), "action": action.model_dump()}
    network = {"hidden_size": 1, "num_layers": 0, "activation": "tanh"}
    return Agent(tensors, {"env_id": "x", "algorithm": "ppo", "spaces": both, "network": network})


def test_actions_follow_the_space_s_start_shape_type_and_bounds() -> None:
    counted = agent_of(box([0.0], [1.0]), discrete(3, start=5))
    assert {int(action) for action in counted.act(np.random.randn(200, 1) * 9)} <= {5, 6, 7}
    space = SpaceInfo(kind="box", shape=(2, 2), dtype="float64", low=(0.0,) * 4, high=(0.5,) * 4)
    shaped = agent_of(box([0.0], [1.0]), space)
    action = shaped.act(np.array([100.0]))
    assert (action.shape, action.dtype) == ((2, 2), np.float64)
    assert ((action >= 0) & (action <= 0.5)).all()


@pytest.mark.parametrize(
    "space",
    [
        spaces.MultiDiscrete([[2, 3], [1, 4]], dtype=np.int32, start=[[0, -1], [7, 0]]),
        spaces.MultiBinary((3, 2)),
        spaces.MultiBinary(1),
        spaces.Discrete(3, start=2, dtype=np.int8),
        spaces.Box(-3, 4, (2, 1), np.int64),
        spaces.Box(0, 255, (3,), np.uint8),
        spaces.Box(-1.0, 2.0, (), np.float32),
        spaces.Box(np.float64([-0.1, 0.3]), np.float64([0.7, 0.3]), dtype=np.float64),
        spaces.Box(-0.1, 0.7, (2,), np.float16),
    ],
)
def test_actions_are_elements_of_any_action_space(space: spaces.Space[Any]) -> None:
    agent = agent_of(box([0.0], [1.0]), describe_space(space))
    obs = np.linspace(-40, 40, 41)[:, None]
    many = agent.act(obs)
    for row, action in zip(obs, many, strict=True):
        one = agent.act(row)
        assert space.contains(one)
        np.testing.assert_array_equal(one, action)


def test_of_several_choices_each_is_the_largest_of_its_own_outputs() -> None:
    space = SpaceInfo(kind="multidiscrete", shape=(2,), dtype="int64", nvec=(2, 3), starts=(0, 10))
    agent = agent_of(box([0.0], [1.0]), space)
    agent.tensors["actor.0.weight"][:] = 0
    agent.tensors["actor.0.bias"][:] = [5.0, 1.0, 0.0, 2.0, -3.0]
    np.testing.assert_array_equal(agent.act(np.zeros(1)), [0, 11])


def test_composite_observations_are_taken_one_and_many() -> None:
    space = SpaceInfo(kind="tuple", parts=(("0", discrete(4)), ("1", box([0.0, 0.0], [1.0, 1.0]))))
    agent = agent_of(space, discrete(2))
    one = agent.act((3, np.array([0.5, 0.2])))
    many = agent.act((np.array([3, 1]), np.array([[0.5, 0.2], [0.0, 0.0]])))
    assert many.shape == (2,)
    assert one == many[0]


def test_an_observation_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        agent_of(box([0.0, 0.0], [1.0, 1.0]), discrete(2)).act(np.zeros(3))


@pytest.mark.parametrize("kept", [0, 5, 8, 100, -1])
def test_a_truncated_file_is_refused(kept: int, tmp_path: Path) -> None:
    path = save_learner(learner_of("CartPole-v1"), "CartPole-v1", tmp_path / "agent.safetensors")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=str(path)):
        load_agent(path)


def foreign_files() -> dict[str, bytes]:
    tensors = {"x": np.zeros(3, np.float32)}
    return {
        "text": b"this is not a checkpoint at all, it is a text",
        "pickle": b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00.",
        "too large a header": struct.pack("<Q", 2**60) + b"{}",
        "a list": struct.pack("<Q", 2) + b"[]",
        "deep": struct.pack("<Q", 200_000) + b"[" * 200_000,
        "no metadata": save(tensors),
        "someone else's": save(tensors, {"format": "pt"}),
        "another version": save(tensors, {"format_version": "7"}),
        "incomplete": save(tensors, {"format_version": "1", "env_id": "CartPole-v1"}),
        "not JSON inside": save(tensors, {key: "1" if key == "format_version" else "{" for key in METADATA_KEYS}),
        "odd JSON inside": save(tensors, dict.fromkeys(METADATA_KEYS, "1")),
    }


@pytest.mark.parametrize("kind", foreign_files())
def test_a_foreign_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign.safetensors"
    path.write_bytes(foreign_files()[kind])
    with pytest.raises(CheckpointError, match=str(path)):
        load_agent(path)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(CheckpointError, match="cannot be read"):
            load_agent(path)


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    learner = learner_of("CartPole-v1")
    learner.network.actor.weights[0][0, 0] = torch.nan
    with pytest.raises(CheckpointError, match="NaN"):
        load_agent(save_learner(learner, "CartPole-v1", tmp_path / "agent.safetensors"))


def test_a_failed_write_leaves_the_old_file_whole_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, path = learner_of("CartPole-v1"), tmp_path / "agent.safetensors"
    old = save_learner(learner, "CartPole-v1", path).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_learner(learner, "CartPole-v1", path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_training_state_comes_back_and_a_damaged_or_foreign_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.pt"
    save_state(path, {"a": torch.arange(3), "b": {"c": [1.5, None]}})
    state = load_state(path)
    assert torch.equal(state["a"], torch.arange(3))
    assert state["b"] == {"c": [1.5, None]}
    torch.save({"other": 1}, tmp_path / "other.pt")
    (tmp_path / "cut.pt").write_bytes(path.read_bytes()[:200])
    for name in ("other.pt", "cut.pt", "none.pt"):
        with pytest.raises(CheckpointError, match=name):
            load_state(tmp_path / name)


def test_the_same_agent_gives_the_same_bytes(tmp_path: Path) -> None:
    """The order of metadata in a file is drawn anew in each process unless it is set."""
    learner = learner_of("CartPole-v1")
    written = [save_learner(learner, "CartPole-v1", tmp_path / f"{index}.safetensors") for index in range(8)]
    assert len({path.read_bytes() for path in written}) == 1
    with safe_open(written[0], "np") as file:
        assert set(file.metadata()) == set(METADATA_KEYS)
