"""What this machine offers: its slots, their device and their threads."""

import os
import socket
from dataclasses import dataclass

from podracer_core.errors import PodracerError
from podracer_core.limits import most_threads
from workers.gpus import gpu_list

MOST_SLOTS = 256
"""Each slot is a process with torch in it."""


class MachineError(PodracerError):
    """A setting of the worker that this machine cannot follow."""


@dataclass(frozen=True, slots=True)
class Machine:
    """name: of the worker; device_kind: cpu or cuda; slots: pods at once; threads: CPU threads a pod."""

    name: str
    device_kind: str
    slots: int
    threads: int

    def device(self, slot: int) -> str:
        """The torch device of a slot. A GPU with more slots than one serves them in turn."""
        return f"cuda:{slot % max(1, len(gpu_list()))}" if self.device_kind == "cuda" else "cpu"


def machine() -> Machine:
    """One slot a GPU, else one for every PODRACER_THREADS_PER_POD (1) cores; PODRACER_SLOTS and PODRACER_DEVICE say
    otherwise. Raises MachineError.
    """
    device_kind = os.environ.get("PODRACER_DEVICE", "auto")
    if device_kind not in ("auto", "cpu", "cuda"):
        raise MachineError(f"PODRACER_DEVICE is {device_kind!r}; give auto, cpu or cuda.")
    gpus = len(gpu_list()) if device_kind != "cpu" else 0
    if device_kind == "cuda" and not gpus:
        raise MachineError("PODRACER_DEVICE is cuda, but torch finds no CUDA device here.")
    threads = _positive("PODRACER_THREADS_PER_POD", 1, most_threads())
    slots = _positive("PODRACER_SLOTS", gpus or max(1, len(cores_allowed()) // threads))
    name = os.environ.get("PODRACER_WORKER_NAME") or f"{socket.gethostname()}:{os.getpid()}"
    return Machine(name, "cuda" if gpus else "cpu", slots, threads)


def _positive(variable: str, default: int, most: int = MOST_SLOTS) -> int:
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= most:
        raise MachineError(f"{variable} is {text!r}; give a whole number from 1 to {most}.")
    return int(text)


def cores_allowed() -> list[int]:
    """The CPU cores that may be used here."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
