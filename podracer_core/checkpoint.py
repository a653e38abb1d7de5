"""Agents as `.safetensors` files, and playing them. Loads numpy only: a policy this small needs no torch.

Tensors: `actor.N.weight` [outputs, inputs] and `actor.N.bias` layer by layer, or `q.N...` for an algorithm that
has action values instead of an actor (see PLAYERS); with observation normalisation `obs.scale` and `obs.shift`,
where the network sees clip(obs * scale + shift, -10, 10); with layer normalisation `actor.N.norm.weight` and
`actor.N.norm.bias` for each hidden layer, before its activation. What else there is (`critic.N...`, `log_std...`)
playing does not need. A discrete action is the largest output, a MultiDiscrete or MultiBinary one the largest of each
entry's own outputs, which follow one another. Of images, `encoder.N.weight` [outputs, inputs, height, width] and
`encoder.N.bias` come first: each pixel divided by the brightest, convolutions without padding, a ReLU behind each,
and what comes out, flattened, is what the network sees; `network` then also has "image" (see envs/image.py) and
"strides", one a layer. Metadata: one JSON value a key, see METADATA_KEYS.
"""

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from podracer_core.encoder import NumpyEncoder
from podracer_core.envs.actions import NativeActions
from podracer_core.envs.spaces import SpaceInfo, flatten_observation
from podracer_core.errors import CheckpointError
from podracer_core.files import write_atomically

FORMAT_VERSION = 1
METADATA_KEYS = (
    "format_version",
    "env_id",
    "spaces",  # {"observation": SpaceInfo, "action": SpaceInfo}
    "algorithm",
    "hyperparameters",
    "network",  # {"hidden_size", "num_layers", "activation", "layer_norm", "obs_clip"}, of images "image" and "strides"
    "env_kwargs",  # what gymnasium.make takes besides the id
    "wrappers",  # [{"name", "kwargs"}], of gymnasium.wrappers, innermost first: what `spaces` are seen through
    "score",  # {"score", "score_low", "score_high", "episodes"}, or null
    "lineage",
)
LATER_KEYS = {"env_kwargs": "{}", "wrappers": "[]"}
"""Keys that older files of this version lack, with what that means."""

MAX_HEADER_BYTES = 1024 * 1024
MAX_FILE_BYTES = 2 * 1024**3
OBS_CLIP, LAYER_NORM_EPSILON = 10.0, 1e-5

Array = npt.NDArray[Any]


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": lambda x: np.asarray(np.tanh(x)),
    "relu": lambda x: np.asarray(np.maximum(x, 0.0)),
    "elu": lambda x: np.asarray(np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))),
    "silu": lambda x: np.asarray(x * _sigmoid(x)),
}


class Player(NamedTuple):
    """How an algorithm's policy plays: the network's name among the tensors, and what brings outputs to -1 .. 1."""

    network: str
    squash: Callable[[Array], Array]


def _clip(x: Array) -> Array:
    return np.asarray(np.clip(x, -1.0, 1.0))


PLAYERS: dict[str, Player] = {
    "ppo": Player("actor", _clip),
    "a2c": Player("actor", _clip),
    "dqn": Player("q", _clip),
    "sac": Player("actor", np.tanh),
    "td3": Player("actor", np.tanh),
    "ddpg": Player("actor", np.tanh),
    "redq": Player("actor", np.tanh),
}


ENSEMBLE = "ensemble"
"""In place of an algorithm: the checkpoint holds several agents, see ensemble.py."""


class Agent:
    """A trained policy. `metadata` holds what METADATA_KEYS name, parsed."""

    def __init__(self, tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
        self._describe(tensors, metadata)
        self._activate = ACTIVATIONS[metadata["network"]["activation"]]
        name, self._squash = PLAYERS[metadata["algorithm"]]
        count = metadata["network"]["num_layers"] + 1
        self._layers = [(tensors[f"{name}.{i}.weight"].T, tensors[f"{name}.{i}.bias"]) for i in range(count)]
        normalised = range(count - 1 if metadata["network"].get("layer_norm") else 0)  # version 1 began without
        self._norms = [(tensors[f"{name}.{i}.norm.weight"], tensors[f"{name}.{i}.norm.bias"]) for i in normalised]
        self._scale, self._shift = tensors.get("obs.scale"), tensors.get("obs.shift")
        self._encoder = NumpyEncoder.read(tensors, metadata["network"])

    def _describe(self, tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
        self.metadata = dict(metadata)
        self.tensors = dict(tensors)
        self.env_id: str = metadata["env_id"]
        self.observation_space = SpaceInfo.model_validate(metadata["spaces"]["observation"])
        self.action_space = SpaceInfo.model_validate(metadata["spaces"]["action"])
        self._native = NativeActions(self.action_space)

    def act(self, obs: Any) -> Any:
        """The most likely action for one observation or a batch, as numpy, ready for Gymnasium's `step`.

        obs: as the environment gives it, numpy, torch or plain numbers; a batch has one more axis in front,
            as a Gymnasium vector environment gives it.
        Raises ValueError where `obs` is not of the observation space.
        """
        rows, single = _rows(self.observation_space, _to_numpy(obs))
        actions = self.decide(rows)
        return self._native.each(actions)[0] if single else self._native(actions)

    def outputs(self, rows: Array) -> Array:
        """rows: flat observations [batch, flat_dim]. Returns what the network says, [batch, action_dim]."""
        if self._encoder:
            rows = self._encoder.forward(rows)
        if self._scale is not None and self._shift is not None:
            rows = np.clip(rows * self._scale + self._shift, -OBS_CLIP, OBS_CLIP)
        for index, (weight, bias) in enumerate(self._layers[:-1]):
            rows = rows @ weight + bias
            if self._norms:
                rows = _layer_norm(rows, *self._norms[index])
            rows = self._activate(rows)
        weight, bias = self._layers[-1]
        return np.asarray(rows @ weight + bias)

    def decide(self, rows: Array) -> Array:
        """rows: flat observations [batch, flat_dim]. Returns actions as a VectorEnv takes them."""
        out, space = self.outputs(rows), self.action_space
        if space.kind == "discrete":
            return np.asarray(out.argmax(1))
        if space.choices:
            entries = np.split(out, np.cumsum(space.choices)[:-1], axis=1)
            return np.stack([entry.argmax(1) for entry in entries], axis=1)
        low, high = np.asarray(space.low, dtype=np.float64), np.asarray(space.high, dtype=np.float64)
        return (low + high) / 2 + self._squash(out) * (high - low) / 2


def _layer_norm(rows: Array, gain: Array, shift: Array) -> Array:
    mean, variance = rows.mean(1, keepdims=True), rows.var(1, keepdims=True)
    return np.asarray((rows - mean) / np.sqrt(variance + LAYER_NORM_EPSILON) * gain + shift)


def save_agent(path: str | Path, tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    """Writes an agent. `metadata`: METADATA_KEYS without the format version, LATER_KEYS where they apply.

    Raises OSError.
    """
    values = {"format_version": FORMAT_VERSION, **LATER_KEYS, **metadata}
    header = {
        key: values[key] if isinstance(values[key], str) else json.dumps(values[key], allow_nan=False)
        for key in METADATA_KEYS
    }
    contiguous = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    write_atomically(Path(path), _ordered(save(contiguous, header)))


def _ordered(data: bytes) -> bytes:
    """The same file with its metadata in one order: the same agent gives the same bytes, and so the same SHA-256."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8 bytes
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def load_agent(path: str | Path) -> Agent:
    """Reads what `save_agent` wrote. Runs no code from the file.

    Raises CheckpointError for a file that is missing, truncated, foreign, of another version or incomplete.
    """
    data = _read(Path(path))
    header = _header(data, path)
    try:
        tensors = load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged: {error}.") from None
    metadata = _metadata(header.get("__metadata__"), path)
    try:
        if metadata["algorithm"] == ENSEMBLE:
            from podracer_core.ensemble import read_ensemble

            return read_ensemble(tensors, metadata)
        check_tensors(tensors, metadata)
        return Agent(tensors, metadata)
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise CheckpointError(f"{path} is not a whole Podracer checkpoint: {_one_line(error)}.") from None


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CheckpointError(f"{path} has more than 2 GiB; no Podracer checkpoint is that large.")
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from None


def _header(data: bytes, path: str | Path) -> dict[str, Any]:
    """The safetensors header: its length in 8 bytes, then JSON."""
    foreign = CheckpointError(f"{path} is not a .safetensors file that Podracer wrote.")
    if len(data) < 8:
        raise CheckpointError(f"{path} has {len(data)} bytes; it is truncated or no .safetensors file.")
    (length,) = struct.unpack("<Q", data[:8])
    if length > MAX_HEADER_BYTES:
        raise foreign
    if length > len(data) - 8:
        raise CheckpointError(f"{path} is truncated: its header should have {length} bytes.")
    try:
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        raise foreign from None
    if not isinstance(header, dict):
        raise foreign
    return header


def _metadata(header: Any, path: str | Path) -> dict[str, Any]:
    if not isinstance(header, dict) or "format_version" not in header:
        raise CheckpointError(f"{path} is a .safetensors file, but not an agent that Podracer wrote.")
    if header["format_version"] != str(FORMAT_VERSION):
        raise CheckpointError(
            f"{path} has format version {header['format_version']}; this Podracer reads version {FORMAT_VERSION}."
        )
    header = LATER_KEYS | header
    missing = [key for key in METADATA_KEYS if key not in header]
    if missing:
        raise CheckpointError(f"{path} is not a whole Podracer checkpoint: it lacks {', '.join(missing)}.")
    plain = ("env_id", "algorithm")
    try:
        return {key: header[key] if key in plain else json.loads(header[key]) for key in METADATA_KEYS}
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} has metadata that is not JSON.") from None


def check_tensors(tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    """Raises ValueError or KeyError unless the policy's tensors fit the spaces and hold finite numbers."""
    network, spaces = metadata["network"], metadata["spaces"]
    inputs = SpaceInfo.model_validate(spaces["observation"]).flat_dim
    encoder = NumpyEncoder.read(tensors, network)
    if encoder:
        inputs = encoder.features(inputs)
    outputs = SpaceInfo.model_validate(spaces["action"]).action_dim
    sizes = [inputs, *[network["hidden_size"]] * network["num_layers"], outputs]
    if network["activation"] not in ACTIVATIONS:
        raise ValueError(f"its activation {network['activation']!r} is not one of {', '.join(ACTIVATIONS)}")
    if metadata["algorithm"] not in PLAYERS:
        raise ValueError(f"its algorithm {metadata['algorithm']!r} is not one of {', '.join(PLAYERS)}")
    name = PLAYERS[metadata["algorithm"]].network
    for index in range(len(sizes) - 1):
        expected = (sizes[index + 1], sizes[index])
        if tensors[f"{name}.{index}.weight"].shape != expected or tensors[f"{name}.{index}.bias"].shape != expected[:1]:
            raise ValueError(f"layer {index} of the policy should be {expected[1]} to {expected[0]} wide")
        if network.get("layer_norm") and index < network["num_layers"]:
            for part in ("weight", "bias"):
                if tensors[f"{name}.{index}.norm.{part}"].shape != expected[:1]:
                    raise ValueError(f"the normalisation of layer {index} should be {expected[0]} wide")
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ValueError(f"tensor {name!r} holds NaN or infinity")


def _one_line(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]!r}"
    return " ".join(str(error).split())[:300]


def _to_numpy(obs: Any) -> Any:
    """torch tensors, also inside tuples and mappings, as numpy arrays; anything else as it is."""
    if isinstance(obs, Mapping):
        return {key: _to_numpy(value) for key, value in obs.items()}
    if isinstance(obs, tuple):
        return tuple(_to_numpy(value) for value in obs)
    return obs.detach().cpu().numpy() if hasattr(obs, "detach") else obs


def _rows(space: SpaceInfo, obs: Any) -> tuple[npt.NDArray[np.float32], bool]:
    """`obs` flattened to [batch, flat_dim], and whether it was a single observation."""
    if space.kind == "box":
        array = np.asarray(obs, dtype=np.float32)
        if array.shape == space.shape:
            return array.reshape(1, -1), True
        if array.shape[1:] == space.shape:
            return array.reshape(len(array), -1), False
        raise ValueError(f"an observation of shape {array.shape} is neither {space.text} nor a batch of it")
    if _is_single(space, obs):
        return flatten_observation(space, obs)[None], True
    return np.stack([flatten_observation(space, _item(space, obs, i)) for i in range(_length(space, obs))]), False


def _is_single(space: SpaceInfo, obs: Any) -> bool:
    """Whether the first leaf of `obs` has the axes of one observation, not one more."""
    if space.parts:
        key, part = space.parts[0]
        return _is_single(part, obs[key] if isinstance(obs, Mapping) else obs[0])
    return np.ndim(obs) == len(space.shape)


def _length(space: SpaceInfo, obs: Any) -> int:
    if space.parts:
        key, part = space.parts[0]
        return _length(part, obs[key] if isinstance(obs, Mapping) else obs[0])
    return len(obs)


def _item(space: SpaceInfo, obs: Any, index: int) -> Any:
    """Observation `index` of a batch whose leaves each have the batch axis in front."""
    if not space.parts:
        return obs[index]
    if isinstance(obs, Mapping):
        return {key: _item(part, obs[key], index) for key, part in space.parts}
    return tuple(_item(part, value, index) for (_, part), value in zip(space.parts, obs, strict=True))
