"""Agents as `.safetensors` files. `player` plays what they hold.

Tensors: `actor.N.weight` [outputs, inputs] and `actor.N.bias` layer by layer, or `q.N...` for an algorithm that
has action values instead of an actor (see PLAYERS); with observation normalisation `obs.scale` and `obs.shift`,
where the network sees clip(obs * scale + shift, -10, 10); with layer normalisation `actor.N.norm.weight` and
`actor.N.norm.bias` for each hidden layer, before its activation. What else there is (`critic.N...`, `log_std...`)
playing does not need. Of images, `encoder.N.weight` [outputs, inputs, height, width] and `encoder.N.bias` come first:
each pixel divided by the brightest, convolutions without padding, a ReLU behind each, and what comes out, flattened, is
what the network sees; `network` then also has "image" (see envs/image.py) and "strides", one a layer. Metadata: one
JSON value a key, see METADATA_KEYS.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from podracer_core.errors import CheckpointError
from podracer_core.files import write_atomically
from podracer_core.player import Agent, check_tensors

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

Array = npt.NDArray[Any]


ENSEMBLE = "ensemble"
"""In place of an algorithm: the checkpoint holds several agents, see ensemble.py."""


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


def _one_line(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]!r}"
    return " ".join(str(error).split())[:300]
