"""Exports: other runtimes act as the agent does, and what cannot be exported is refused by name."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from podracer_core import export
from podracer_core.agent_metadata import agent_metadata
from podracer_core.agents.convolution import Encoder, encoder_features, encoder_parameter_count, layers_of
from podracer_core.agents.learners import LEARNERS
from podracer_core.checkpoint import save_agent
from podracer_core.envs.spaces import SpaceInfo, box, discrete, flatten_observations
from podracer_core.envs.vector_env import make_vector_env
from podracer_core.errors import ExportError
from podracer_core.exporting import onnx_graph, torch_module
from podracer_core.exporting.torch_module import torchscript
from podracer_core.hyperparameters import ACTION_KINDS, complete
from podracer_core.player import PLAYERS, Agent
from tests.core.making import make_plan

ACTIVATIONS = ["tanh", "relu", "elu", "silu"]
SMALL: dict[str, Any] = {"hidden_size": 24, "learning_rate": 0.01}
REPLAY: dict[str, Any] = {"learning_starts": 8, "batch_size": 8, "buffer_size": 100}
COMPOSITE = SpaceInfo(
    kind="dict",
    parts=(
        ("colour", discrete(3, start=2)),
        ("lamps", SpaceInfo(kind="multibinary", shape=(2,), dtype="int8")),
        ("place", SpaceInfo(kind="tuple", parts=(("0", box([-1.0, 0.0], [1.0, 9.0])), ("1", discrete(2))))),
        ("wheel", SpaceInfo(kind="multidiscrete", shape=(2,), dtype="int64", nvec=(2, 3), starts=(0, 1))),
    ),
)


def trained(env_id: str, algorithm: str, **hyperparameters: Any) -> Agent:
    """An agent that has learned a little, so that its normaliser and its biases are not the first ones."""
    torch.set_num_threads(1)
    short = REPLAY if "buffer_size" in complete(algorithm).model_dump() else {"num_steps": 16}
    hp = complete(algorithm, SMALL, short, hyperparameters)
    learner = LEARNERS[algorithm](make_vector_env(env_id, 4), hp, 3)
    for _ in range(3):
        learner.iterate(1.0)
    plan = make_plan(Path("/"), env_id=env_id, algorithm=algorithm)
    metadata = agent_metadata(plan, hp, None, None)
    return Agent({name: tensor.numpy().copy() for name, tensor in learner.tensors().items()}, metadata)


def agent_of(
    observation: SpaceInfo, action: SpaceInfo, algorithm: str = "ppo", inputs: int | None = None, **network: Any
) -> Agent:
    """A policy of one hidden layer with random weights, that sees `inputs` numbers."""
    random, name = np.random.default_rng(5), PLAYERS[algorithm].network
    sizes = [inputs or observation.flat_dim, 8, action.action_dim]
    tensors: dict[str, Any] = network.pop("tensors", {})
    for index in range(2):
        tensors[f"{name}.{index}.weight"] = random.normal(size=(sizes[index + 1], sizes[index])).astype(np.float32)
        tensors[f"{name}.{index}.bias"] = random.normal(size=sizes[index + 1]).astype(np.float32)
    metadata = {
        "env_id": "x",
        "algorithm": algorithm,
        "spaces": {"observation": observation.model_dump(), "action": action.model_dump()},
        "network": {"hidden_size": 8, "num_layers": 1, "activation": "elu", **network},
    }
    return Agent(tensors, metadata)


def run(format: Any, data: bytes, rows: Any) -> Any:
    return export.run_onnx(data, rows) if format == "onnx" else export.run_torchscript(data, rows)


@pytest.mark.parametrize("format", export.FORMATS)
@pytest.mark.parametrize(
    ("algorithm", "env_id"),
    [
        (algorithm, {"discrete": "CartPole-v1", "continuous": "Pendulum-v1"}[kind])
        for algorithm in LEARNERS
        for kind in ACTION_KINDS[algorithm]
        if kind != "multidiscrete"  # of which the catalogue has none
    ],
)
def test_every_algorithm_acts_the_same_in_another_runtime(algorithm: str, env_id: str, format: Any) -> None:
    agent = trained(env_id, algorithm, norm_obs=True, layer_norm=True)
    made = export.make_export(agent, format)
    assert made.observations == export.OBSERVATIONS
    # On others than those that the export was compared on, one by one and all at once.
    obs, rows = export.draw_observations(agent, 40, np.random.default_rng(11))
    expected = agent.act(obs)
    np.testing.assert_allclose(run(format, made.data, rows), expected, atol=1e-5)
    np.testing.assert_allclose(run(format, made.data, rows[:1]), expected[:1], atol=1e-5)
    if agent.action_space.kind == "discrete":
        assert made.max_difference == 0
        assert len(set(expected.tolist())) > 1


@pytest.mark.parametrize("format", export.FORMATS)
@pytest.mark.parametrize("shape", [(12, 14), (12, 14, 3), (3, 12, 14), (2, 12, 14, 3), (2, 3, 12, 14)])
def test_what_sees_images_exports(shape: tuple[int, ...], format: Any) -> None:
    space = SpaceInfo(kind="box", shape=shape, dtype="uint8", low=(0.0,), high=(255.0,))
    assert space.image is not None
    strides = [layer.stride for layer in layers_of(space.image)]
    encoder = Encoder(space.image, *torch.zeros(2, encoder_parameter_count(space.image)))
    encoder.initialise(torch.Generator().manual_seed(2))
    filters = {f"encoder.{name}": tensor.numpy() for name, tensor in encoder.tensors().items()}
    network = {"inputs": encoder_features(space.image), "image": space.image._asdict(), "strides": strides}
    agent = agent_of(space, discrete(4), tensors=filters, **network)
    made = export.make_export(agent, format)
    obs, rows = export.draw_observations(agent, 30, np.random.default_rng(3))
    assert obs.shape == (30, *shape)
    assert obs.dtype == np.uint8
    np.testing.assert_array_equal(run(format, made.data, rows), agent.act(obs))
    assert len(set(agent.act(obs).tolist())) > 1


@pytest.mark.parametrize("format", export.FORMATS)
@pytest.mark.parametrize("num_layers", [0, 2])
@pytest.mark.parametrize("norm_obs", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_exports_with_and_without_normaliser(
    activation: str, norm_obs: bool, num_layers: int, format: Any
) -> None:
    agent = trained("Pendulum-v1", "ppo", activation=activation, norm_obs=norm_obs, num_layers=num_layers)
    made = export.make_export(agent, format)
    assert made.max_difference < 1e-5
    if format == "onnx":
        operators = [node.op_type for node in onnx.load_from_string(made.data).graph.node]
        assert operators.count("Gemm") == num_layers + 1
        assert operators.count("Clip") == 1 + norm_obs  # one of the actions, one of the normaliser


SPACES = {
    "shaped float64": SpaceInfo(kind="box", shape=(2, 2), dtype="float64", low=(-1.0,) * 4, high=(0.1, 2.0, 3.0, 4.0)),
    "float32 bounds": box([-0.1, 7.3], [0.1, 7.9]),
    "counted from five": discrete(3, start=5),
    "several choices": SpaceInfo(kind="multidiscrete", shape=(2,), dtype="int64", nvec=(2, 3), starts=(0, 5)),
    "lamps": SpaceInfo(kind="multibinary", shape=(2, 2), dtype="int8"),
    "whole numbers": SpaceInfo(kind="box", shape=(2,), dtype="int32", low=(-3.0, 0.0), high=(3.0, 9.0)),
    "one number": SpaceInfo(kind="box", dtype="float16", low=(-1.0,), high=(3.0,)),
    "one whole number": SpaceInfo(kind="box", dtype="int64", low=(-1.0,), high=(3.0,)),
    "one choice": SpaceInfo(kind="multidiscrete", dtype="int64", nvec=(3,), starts=(7,)),
    "one lamp": SpaceInfo(kind="multibinary", dtype="int8"),
}


@pytest.mark.parametrize("format", export.FORMATS)
@pytest.mark.parametrize("algorithm", ["ppo", "td3"])
@pytest.mark.parametrize("space", SPACES)
def test_actions_keep_shape_type_bounds_and_start(space: str, algorithm: str, format: Any) -> None:
    action = SPACES[space]
    agent = agent_of(box([-3.0] * 4, [3.0] * 4), action, algorithm)
    _, rows = export.draw_observations(agent, 300, np.random.default_rng(1))
    actions = run(format, export.make_export(agent, format).data, rows)
    assert (actions.shape, str(actions.dtype)) == ((300, *action.shape), action.dtype)
    if action.kind == "discrete":
        assert set(actions.tolist()) == {5, 6, 7}
        return
    if action.choices:
        entries = actions.reshape(300, -1).T - np.reshape(action.starts or 0, (-1, 1))
        assert [set(entry.tolist()) for entry in entries] == [set(range(count)) for count in action.choices]
        return
    low, high = (np.reshape(bound, action.shape).astype(action.dtype) for bound in (action.low, action.high))
    assert ((actions >= low) & (actions <= high)).all()
    # Far beyond, every action is at a bound, exactly.
    edge = run(format, export.make_export(agent, format).data, np.full((1, 4), 1e9, np.float32))
    assert ((edge == low) | (edge == high)).all()


@pytest.mark.parametrize("format", export.FORMATS)
@pytest.mark.parametrize(
    "space", [SPACES[name] for name in SPACES if name.startswith("one ")], ids=lambda space: space.text
)
def test_observations_of_one_number_go_in(space: SpaceInfo, format: Any) -> None:
    for observation in (space, SpaceInfo(kind="dict", parts=(("only", space),))):
        agent = agent_of(observation, discrete(4))
        obs, rows = export.draw_observations(agent, 50, np.random.default_rng(2))
        np.testing.assert_array_equal(run(format, export.make_export(agent, format).data, rows), agent.act(obs))


@pytest.mark.parametrize("format", export.FORMATS)
def test_composite_observations_go_in_as_the_layout_says(format: Any) -> None:
    agent = agent_of(COMPOSITE, discrete(4))
    obs, _ = export.draw_observations(agent, 50, np.random.default_rng(2))
    layout = {part["path"]: part for part in json.loads(export.export_metadata(agent)["observation_layout"])}
    assert list(layout) == ["colour", "lamps", "place/0", "place/1", "wheel"]
    rows = np.zeros((50, COMPOSITE.flat_dim), np.float32)
    for path, part in layout.items():
        value = obs[path.split("/")[0]]
        value = value[int(path.split("/")[1])] if "/" in path else value
        if path == "wheel":
            written = np.concatenate([np.eye(2)[value[:, 0]], np.eye(3)[value[:, 1] - 1]], axis=1)
        elif part["as"] == "one-hot":
            written = np.eye(part["to"] - part["from"])[value - (2 if path == "colour" else 0)]
        else:
            written = value
        rows[:, part["from"] : part["to"]] = written
    np.testing.assert_array_equal(rows, flatten_observations(COMPOSITE, obs)[0])
    np.testing.assert_array_equal(run(format, export.make_export(agent, format).data, rows), agent.act(obs))


def test_the_file_tells_what_it_is() -> None:
    agent = trained("Pendulum-v1", "ppo")
    model = onnx.load_from_string(export.make_export(agent, "onnx").data)
    from_onnx = {prop.key: prop.value for prop in model.metadata_props}
    from_torch: dict[str, Any] = dict.fromkeys(from_onnx, "")
    with torchscript():
        buffer = io.BytesIO(export.make_export(agent, "torchscript").data)
        torch.jit.load(buffer, _extra_files=from_torch)
    assert {name: value.decode() for name, value in from_torch.items()} == from_onnx
    assert from_onnx["env_id"] == "Pendulum-v1"
    assert json.loads(from_onnx["hyperparameters"])["hidden_size"] == 24
    assert "float32 [n, 3]" in from_onnx["input"]
    assert "float32 [n, 1]" in from_onnx["output"]


def test_the_same_agent_gives_the_same_bytes() -> None:
    agent = trained("CartPole-v1", "ppo")
    for format in ("onnx", "torchscript"):
        assert export.make_export(agent, format).data == export.make_export(agent, format).data


@pytest.mark.parametrize("format", export.FORMATS)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_an_export_that_acts_otherwise_is_not_written(
    env_id: str, format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, path = trained(env_id, "ppo"), tmp_path / "agent"
    module: Any = onnx_graph if format == "onnx" else torch_module
    right = module.build

    def wrong(steps: list[Any], *rest: Any) -> bytes:
        last = steps[-2]
        data: bytes = right(
            [
                *steps[:-2],
                last._replace(bias=last.bias + 1e-2 * np.arange(len(last.bias), 0, -1, dtype=np.float32)),
                steps[-1],
            ],
            *rest,
        )
        return data

    monkeypatch.setattr(module, "build", wrong)
    with pytest.raises(ExportError, match=f"{format} export acts otherwise than the agent, by up to .* nothing was"):
        export.export_agent(agent, format, path)
    assert list(tmp_path.iterdir()) == []


def test_what_the_export_does_not_know_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    place, two = box([0.0], [1.0]), discrete(2)
    with pytest.raises(ExportError, match="layer_shift = True cannot be exported yet"):
        export.make_export(agent_of(place, two, layer_shift=True), "onnx")
    agent = agent_of(place, place)
    monkeypatch.setitem(PLAYERS, "ppo", PLAYERS["ppo"]._replace(squash=np.sin))
    with pytest.raises(ExportError, match="way in which ppo bounds its actions"):
        export.make_export(agent, "torchscript")


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.sampled_from([None, 0.0, -2.5, 3e38]), min_size=1, max_size=4),
    st.sampled_from(["float32", "float64", "uint8", "int64"]),
    st.integers(0, 2**32),
)
def test_random_observations_are_of_the_space(lows: list[float | None], dtype: str, seed: int) -> None:
    if dtype == "uint8":
        lows = [0.0] * len(lows)
    elif dtype == "int64":  # whose bounds are whole
        lows = [None if low is None else float(int(low)) for low in lows]
    highs = [None if low is None else low + 200 if low < 1e9 else None for low in lows]
    space = SpaceInfo(kind="box", shape=(len(lows),), dtype=dtype, low=tuple(lows), high=tuple(highs))
    agent = agent_of(space, discrete(2))
    if dtype == "int64" and 3e38 in lows:
        return
    obs, rows = export.draw_observations(agent, 20, np.random.default_rng(seed))
    assert obs.dtype == dtype
    assert np.isfinite(rows).all()
    for column, low, high in zip(obs.T, lows, highs, strict=True):
        assert low is None or (column >= np.array(low).astype(dtype)).all()
        assert high is None or (column <= high).all()


def test_a_saved_agent_is_exported_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from podracer_core.__main__ import main

    agent, source, out = trained("CartPole-v1", "dqn"), tmp_path / "agent.safetensors", tmp_path / "agent.onnx"
    save_agent(source, agent.tensors, agent.metadata)
    assert main(["export", str(source), "--format", "onnx", "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["max_difference"] == 0
    assert (answer["env_id"], answer["algorithm"], answer["format"]) == ("CartPole-v1", "dqn", "onnx")
    assert (answer["size"], answer["observations"]) == (out.stat().st_size, 256)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    assert main(["export", str(source), "--format", "torchscript", "--out", str(tmp_path / "agent.pt")]) == 0
    assert "equal to the agent on 256 observations" in capsys.readouterr().out
    assert main(["export", str(source), "--format", "onnx", "--out", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert main(["export", str(source), "--format", "tflite", "--out", str(out)]) == 2
    assert "'tflite'" in capsys.readouterr().err
