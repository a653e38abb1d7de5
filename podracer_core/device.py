"""Which torch device a name means on this machine."""

import torch

from podracer_core.errors import DeviceUnavailableError


def resolve_device(name: str) -> torch.device:
    """name: "auto", "cpu", "cuda" or "cuda:N". Raises DeviceUnavailableError, naming what is there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DeviceUnavailableError(f"Unknown device {name!r}; this machine has {_available()}.") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda" or (device.index or 0) >= torch.cuda.device_count():
        raise DeviceUnavailableError(f"Device {name!r} is not on this machine, which has {_available()}.")
    return device


def flush_denormals(on: bool = True) -> None:
    """For processes that only train: Adam's tiniest moments would otherwise cost ten times as much.

    It holds for all arithmetic of the calling thread's process from then on, so a library does not do it by itself.
    """
    torch.set_flush_denormal(on)


def _available() -> str:
    return ", ".join(["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))])
