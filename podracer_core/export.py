"""Agents as TorchScript and ONNX: self-contained policies, proven equal to the agent before a file is written.

In: `observations`, float32 [n, observation_dim], each flattened as the file's own metadata says. Out: `actions`,
what Gymnasium's `step` takes. Normalisation, network, squashing and scaling to the bounds are in the graph.
"""

import hashlib
import io
import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from podracer_core.checkpoint import METADATA_KEYS
from podracer_core.envs.spaces import Float32Array, SpaceInfo, flatten_observations
from podracer_core.errors import ExportError
from podracer_core.exporting.steps import policy_steps
from podracer_core.files import write_atomically
from podracer_core.player import Agent

Format = Literal["torchscript", "onnx"]
FORMATS: dict[str, str] = {"torchscript": ".pt", "onnx": ".onnx"}
"""Each format with the suffix of its files."""

OBSERVATIONS = 256
"""How many observations an export is compared on."""

TOLERANCE = 1e-4
"""Largest difference of a continuous action, as a share of its range. Discrete actions are the same."""

WIDE = 1e6
"""A bound beyond this is none that an observation comes near."""

Array = npt.NDArray[Any]


class Export(NamedTuple):
    """data: the file's bytes; max_difference: of the actions, in the environment's units; observations: compared on"""

    data: bytes
    max_difference: float
    observations: int


def export_agent(agent: Agent, format: Format, path: Path) -> dict[str, Any]:
    """Writes `agent` to `path` and returns what is to be said of it.

    Raises ExportError where the agent cannot be exported or the export acts otherwise than the agent; OSError.
    """
    export = make_export(agent, format)
    write_atomically(path, export.data)
    return {
        "env_id": agent.env_id,
        "algorithm": agent.metadata["algorithm"],
        "format": format,
        "size": len(export.data),
        "sha256": hashlib.sha256(export.data).hexdigest(),
        "observations": export.observations,
        "max_difference": export.max_difference,
    }


def make_export(agent: Agent, format: Format, seed: int = 0) -> Export:
    """The export, compared with `agent.act` on OBSERVATIONS random observations of the agent's space.

    Raises ExportError.
    """
    steps, metadata = policy_steps(agent), export_metadata(agent)
    obs, rows = draw_observations(agent, OBSERVATIONS, np.random.default_rng(seed))
    if format == "onnx":
        from podracer_core.exporting import onnx_graph

        data = onnx_graph.build(steps, rows.shape[1], metadata)
        actions = run_onnx(data, rows)
    else:
        from podracer_core.exporting import torch_module

        data = torch_module.build(steps, metadata)
        actions = run_torchscript(data, rows)
    return Export(data, prove(agent, agent.act(obs), actions, format), len(rows))


def prove(agent: Agent, expected: Array, actions: Array, format: str) -> float:
    """The largest difference between the agent's actions and the export's. Raises ExportError where it matters."""
    if actions.shape != expected.shape or actions.dtype != expected.dtype:
        raise ExportError(
            f"The {format} export answers {actions.dtype} {list(actions.shape)} where the agent answers "
            f"{expected.dtype} {list(expected.shape)}; nothing was written."
        )
    difference = np.abs(actions.astype(np.float64) - expected.astype(np.float64))
    space, allowed = agent.action_space, np.zeros(())
    if space.kind == "box":
        assert space.low is not None
        assert space.high is not None
        ranges = np.array(space.high, dtype=np.float64) - np.array(space.low, dtype=np.float64)
        allowed = TOLERANCE * ranges.reshape(space.shape)
        if expected.dtype.kind == "f":  # the next number that the type has is no other action
            allowed = allowed + np.spacing(np.abs(expected))
    if not (difference <= allowed).all():
        raise ExportError(
            f"The {format} export acts otherwise than the agent, by up to {difference.max():.3g} on "
            f"{len(expected)} random observations; nothing was written."
        )
    return float(difference.max())


def run_onnx(data: bytes, rows: Float32Array) -> Array:
    """What the ONNX file `data` answers to flat observations [n, observation_dim]."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    answer: Array = session.run(None, {session.get_inputs()[0].name: rows})[0]
    return answer


def run_torchscript(data: bytes, rows: Float32Array) -> Array:
    """What the TorchScript file `data` answers to flat observations [n, observation_dim]."""
    import torch

    from podracer_core.exporting.torch_module import torchscript

    with torchscript(), torch.inference_mode():
        module = torch.jit.load(io.BytesIO(data), map_location="cpu")  # type: ignore[no-untyped-call]
        answer: Array = module(torch.from_numpy(rows)).numpy()
    return answer


# What the file says of itself


def export_metadata(agent: Agent) -> dict[str, str]:
    """The agent's own metadata, and how observations go in and actions come out. One text or JSON value a key."""
    values = {key: agent.metadata[key] for key in METADATA_KEYS if key in agent.metadata}
    values |= {
        "observation_layout": observation_layout(agent.observation_space),
        "input": f"observations: float32 [n, {agent.observation_space.flat_dim}], each flattened as observation_layout "
        "says; not normalised, the policy does that itself",
        "output": f"actions: {_output_text(agent.action_space)}, one a row, as the environment takes them",
    }
    return {
        key: value if isinstance(value, str) else json.dumps(value, allow_nan=False) for key, value in values.items()
    }


def _output_text(space: SpaceInfo) -> str:
    return "int64 [n]" if space.kind == "discrete" else f"{space.dtype} {['n', *space.shape]}".replace("'", "")


def observation_layout(space: SpaceInfo, path: str = "", start: int = 0) -> list[dict[str, Any]]:
    """Where each part of an observation lies in its row: `from` up to `to`, and how it is written there.

    Parts of a Tuple or Dict come in the order in which they are flattened, their path with slashes between.
    """
    if space.kind in ("tuple", "dict"):
        layout: list[dict[str, Any]] = []
        for key, part in space.parts:
            layout += observation_layout(part, f"{path}/{key}" if path else key, layout[-1]["to"] if layout else start)
        return layout
    how = {"discrete": "one-hot", "multidiscrete": "one-hot, value after value"}.get(space.kind, "raveled, row by row")
    return [{"path": path, "space": space.text, "from": start, "to": start + space.flat_dim, "as": how}]


# Random observations


def draw_observations(agent: Agent, count: int, random: np.random.Generator) -> tuple[Any, Float32Array]:
    """`count` observations as the environment gives a batch of them, and the same flattened, [count, observation_dim].

    Where a bound is missing they are spread around what the agent's normaliser has seen.
    """
    flat_dim = agent.observation_space.flat_dim
    scale, shift = agent.tensors.get("obs.scale"), agent.tensors.get("obs.shift")
    deviation = np.ones(flat_dim) if scale is None else 1 / np.maximum(scale, 1e-6)
    mean = np.zeros(flat_dim) if shift is None else -shift * deviation
    obs, _ = _draw(agent.observation_space, count, random, (mean, 3 * deviation), 0)
    return obs, flatten_observations(agent.observation_space, obs)[0]


def _draw(
    space: SpaceInfo, count: int, random: np.random.Generator, seen: tuple[Array, Array], start: int
) -> tuple[Any, int]:
    """A batch of `space`, whose entries begin at `start` in a flat row; and where they end. seen: mean, spread."""
    if space.kind in ("tuple", "dict"):
        drawn: dict[str, Any] = {}
        for key, part in space.parts:
            drawn[key], start = _draw(part, count, random, seen, start)
        return (drawn if space.kind == "dict" else tuple(drawn.values())), start
    end = start + space.flat_dim
    if space.kind == "box":
        mean, spread = (values[start:end] for values in seen)
        return _draw_box(space, random.normal(mean, spread, (count, end - start)), random), end
    if space.kind == "discrete":
        return random.integers(space.start, space.start + space.flat_dim, count), end
    if space.kind == "multidiscrete":
        values = random.integers(0, space.nvec, (count, len(space.nvec))) + np.array(space.starts)
        return values.reshape(count, *space.shape), end
    return random.integers(0, 2, (count, *space.shape)), end


def _draw_box(space: SpaceInfo, around: Array, random: np.random.Generator) -> Array:
    """Even between two bounds, else `around` [count, entries], kept inside the one that there is."""
    low, high = (
        np.array([other if value is None else value for value in bounds or ()], dtype=np.float64)
        for bounds, other in ((space.low, -np.inf), (space.high, np.inf))
    )
    bounded = (low > -WIDE) & (high < WIDE)
    even = random.uniform(np.where(bounded, low, 0.0), np.where(bounded, high, 1.0), around.shape)
    values = np.where(bounded, even, np.clip(around, low, high))
    if not space.dtype.startswith("float"):
        values = np.floor(values)
    return values.astype(space.dtype).reshape(len(around), *space.shape)
