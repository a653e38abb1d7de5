"""What a resume needs and a player does not: optimizer, counters, generators. Plain tensors and numbers in a `.pt`."""

import io
import pickle
from pathlib import Path
from typing import Any

import torch

from podracer_core.errors import CheckpointError
from podracer_core.files import write_atomically

STATE_VERSION = 2


def save_state(path: str | Path, state: dict[str, Any]) -> None:
    """Writes `state`, made of dicts, lists, numbers, texts and tensors. Raises OSError."""
    buffer = io.BytesIO()
    torch.save({"state_version": STATE_VERSION, **state}, buffer)
    write_atomically(Path(path), buffer.getvalue())


def load_state(path: str | Path) -> dict[str, Any]:
    """Reads what `save_state` wrote, onto the CPU; runs no code from the file.

    Raises CheckpointError for a file that is missing, damaged, foreign or of another version.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise CheckpointError(f"The training state {path} cannot be read: {error.strerror or error}.") from None
    except (RuntimeError, ValueError, EOFError, KeyError, pickle.UnpicklingError):
        raise CheckpointError(f"{path} is damaged, or not a training state that Podracer wrote.") from None
    version = state.get("state_version") if isinstance(state, dict) else None
    if version != STATE_VERSION:
        raise CheckpointError(f"{path} is a training state of version {version}; this Podracer reads {STATE_VERSION}.")
    return dict(state)
