"""Images from end to end: a camera of one's own is trained on, scored, played without torch, and rebuilt."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from podracer_core import load_agent, make_env
from podracer_core.__main__ import main
from podracer_core.checkpoint import save_agent
from podracer_core.envs import probe
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.errors import CheckpointError, EnvError, SpecError
from podracer_core.pod import Pod
from podracer_core.progress import Log, Outcome
from podracer_core.spec_parse import spec_parse
from tests.core.making import make_plan, run_pod

PACKAGE = '''
import gymnasium, numpy as np
class Gate(gymnasium.Env):
    """Shows a gate, left or right, for one step only; the step after, only memory of it helps to go through."""
    observation_space = gymnasium.spaces.Box(0, 255, (8, 9, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.side = 0, int(self.np_random.integers(2))
        return self.show(), {}
    def step(self, action):
        self.count += 1
        shown = self.show()
        return shown, float(self.count == 2 and action == self.side), self.count == 2, False, {}
    def show(self):
        image = np.zeros((8, 9, 3), np.uint8)
        if self.count == 0:
            image[2:6, 5 * self.side : 5 * self.side + 4, 1] = 255
        return image
gymnasium.register("cameras/Gate-v0", entry_point=Gate, max_episode_steps=5)
'''
GATE = "cameras/Gate-v0"
SHORT = {
    "frame_stack": 2,
    "num_steps": 16,
    "num_epochs": 4,
    "num_minibatches": 4,
    "hidden_size": 32,
    "learning_rate": 2e-3,
}


@pytest.fixture(scope="module")
def entries() -> dict[str, Any]:
    """What the probe found, kept over the tests of this file."""
    return {}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: dict[str, Any]) -> Iterator[None]:
    (tmp_path / "cameras_for_tests.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PODRACER_ENVIRONMENTS", "cameras_for_tests")
    monkeypatch.setenv("PODRACER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(probe, "_found", entries)
    torch.set_num_threads(1)
    yield
    sys.modules.pop("cameras_for_tests", None)
    gymnasium.registry.pop(GATE, None)


def gate_plan(folder: Path, **changes: Any) -> Any:
    given = {"hyperparameters": SHORT | {"norm_obs": False, "gamma": 0.9, "activation": "relu"}, "env_steps": 2048}
    return make_plan(folder, GATE, **given | changes)


def test_a_pod_learns_what_only_stacked_frames_show_and_its_agent_plays_the_wrapped_environment(tmp_path: Path) -> None:
    plan = gate_plan(tmp_path)
    messages, result = run_pod(plan)
    assert result.outcome is Outcome.FINISHED, result.reason
    assert result.evaluation is not None
    assert result.evaluation.score == 1.0
    assert any("images 6 x 8 x 9, filters 16 3 x 3" in message.text for message in messages if isinstance(message, Log))
    env, agent = make_env(result.checkpoint_path), load_agent(result.checkpoint_path)
    assert agent.metadata["wrappers"] == [{"name": "FrameStackObservation", "kwargs": {"stack_size": 2}}]
    assert env.observation_space.shape == agent.observation_space.shape == (2, 8, 9, 3)
    total = 0.0
    for seed in range(5):
        obs, _ = env.reset(seed=seed)
        ended = False
        while not ended:
            obs, reward, ended, _, _ = env.step(agent.act(obs))
            total += float(reward)
    assert total == 5.0


@pytest.mark.parametrize("algorithm", ["ppo", "a2c", "dqn"])
def test_an_agent_without_torch_acts_as_its_learner_does(algorithm: str, tmp_path: Path) -> None:
    changes = {"frame_stack": 2, "norm_obs": False, "hidden_size": 16}
    if algorithm == "dqn":
        changes |= {"learning_starts": 32, "batch_size": 16, "dueling": True}
    pod = Pod(gate_plan(tmp_path, algorithm=algorithm, hyperparameters=changes, env_steps=256))
    *_, result = pod.run()
    assert result.outcome is Outcome.FINISHED, result.reason
    agent, learner = load_agent(result.checkpoint_path), pod.learner
    obs = np.random.default_rng(0).integers(0, 256, (40, 2, 8, 9, 3), np.uint8)
    seen = torch.from_numpy(agent._encoder.image.channels_first(obs))
    if algorithm == "dqn":
        features = learner.network._encoder.forward(seen)
        out = learner.network._online.forward(features)[:, :2]
    else:
        features = learner.network.encode(seen)
        out = learner.network.actor.forward(features)
    rows = obs.reshape(40, -1).astype(np.float32)
    np.testing.assert_allclose(agent._encoder.forward(rows), features, atol=1e-5)
    np.testing.assert_allclose(agent.outputs(rows), out, atol=1e-5)
    assert agent.act(obs).tolist() == learner.act(seen).tolist()
    assert agent.act(obs[3]) == agent.act(obs)[3]
    script = f"import sys; from podracer_core import load_agent; load_agent({result.checkpoint_path!r})"
    subprocess.run([sys.executable, "-c", f"{script}; assert 'torch' not in sys.modules"], check=True)


def test_the_command_line_trains_and_evaluates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "gate.safetensors"
    assert main(["train", "--env", GATE, "--env-steps", "1024", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["env_id"] == GATE
    assert load_agent(out).metadata["hyperparameters"]["norm_obs"] is False
    assert main(["evaluate", str(out), "--episodes", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episode_length"] == 2
    assert main(["train", "--env", GATE, "--set", "norm_obs=true"]) == 2
    assert "norm_obs is for vectors" in capsys.readouterr().err
    assert main(["train", "--env", GATE, "--algorithm", "sac"]) == 2
    assert "those that can: ppo, a2c, dqn" in capsys.readouterr().err


def test_a_specification_writes_down_what_images_need_and_refuses_what_they_forbid() -> None:
    spec = spec_parse({"env_id": GATE, "algorithms": [{"name": "dqn"}]})
    assert spec.search_space("dqn")["norm_obs"].values == (False,)
    assert "norm_obs" in spec.algorithms[0].search_space  # so that a process that has not seen the environment knows
    given = {"norm_obs": {"choice": [True, False]}}
    with pytest.raises(SpecError, match="norm_obs: is for vectors"):
        spec_parse({"env_id": GATE, "algorithms": [{"name": "dqn", "search_space": given}]})
    with pytest.raises(SpecError, match=r"algorithms.0.name: sac cannot see images"):
        spec_parse({"env_id": GATE, "algorithms": [{"name": "sac"}]})
    stacked = {"name": "ppo", "search_space": {"frame_stack": {"choice": [1, 4]}}}
    with pytest.raises(SpecError, match="frame_stack: stacks observations of a Box; this environment shows a Discrete"):
        spec_parse({"env_id": "FrozenLake-v1", "algorithms": [stacked]})


def test_a_checkpoint_that_asks_for_other_wrappers_or_does_not_fit_its_images_is_refused(tmp_path: Path) -> None:
    _, result = run_pod(gate_plan(tmp_path, env_steps=128))
    agent, path = load_agent(result.checkpoint_path), tmp_path / "other.safetensors"
    metadata = {name: value for name, value in agent.metadata.items() if name != "format_version"}
    foreign = [{"name": "RecordVideo", "kwargs": {"video_folder": str(tmp_path / "videos")}}]
    save_agent(path, agent.tensors, metadata | {"wrappers": foreign})
    with pytest.raises(EnvError, match="'RecordVideo' is not one of AtariPreprocessing, FrameStackObservation"):
        make_env(path)
    with pytest.raises(CheckpointError, match="only frameskip may be set"):
        make_env(metadata | {"env_kwargs": {"render_mode": "human"}})
    narrow = agent.tensors | {"encoder.0.weight": agent.tensors["encoder.0.weight"][:, :3]}
    save_agent(path, narrow, metadata)
    with pytest.raises(CheckpointError, match="layer 0 of the encoder"):
        load_agent(path)
    save_agent(path, agent.tensors, metadata | {"network": metadata["network"] | {"strides": [0]}})
    with pytest.raises(CheckpointError, match="with stride 0"):
        load_agent(path)


def test_vectors_are_stacked_too(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, "Pendulum-v1", hyperparameters={"frame_stack": 3, "num_steps": 16}, env_steps=256)
    _, result = run_pod(plan)
    assert result.outcome is Outcome.FINISHED, result.reason
    env, agent = make_env(result.checkpoint_path), load_agent(result.checkpoint_path)
    obs, _ = env.reset(seed=1)
    assert obs.shape == (3, 3)
    assert env.action_space.contains(agent.act(obs))
    assert make_vector_env("Pendulum-v1", 2, frame_stack=3).observation_dim == 9
