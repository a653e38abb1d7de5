"""What this machine offers: its slots, their device and their threads."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from podracer_core.errors import PodracerError
from podracer_core.limits import most_threads

COUNT_GPUS = "import torch; print(torch.cuda.device_count())"
COUNT_SECONDS = 120

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
        return f"cuda:{slot % max(1, gpu_count())}" if self.device_kind == "cuda" else "cpu"


def machine() -> Machine:
    """One slot a GPU, else one for every PODRACER_THREADS_PER_POD (1) cores; PODRACER_SLOTS and PODRACER_DEVICE say
    otherwise. Raises MachineError.
    """
    device_kind = os.environ.get("PODRACER_DEVICE", "auto")
    if device_kind not in ("auto", "cpu", "cuda"):
        raise MachineError(f"PODRACER_DEVICE is {device_kind!r}; give auto, cpu or cuda.")
    gpus = gpu_count() if device_kind != "cpu" else 0
    if device_kind == "cuda" and not gpus:
        raise MachineError("PODRACER_DEVICE is cuda, but torch finds no CUDA device here.")
    threads = _positive("PODRACER_THREADS_PER_POD", 1, most_threads())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    slots = _positive("PODRACER_SLOTS", gpus or max(1, cores // threads))
    name = os.environ.get("PODRACER_WORKER_NAME") or f"{socket.gethostname()}:{os.getpid()}"
    return Machine(name, "cuda" if gpus else "cpu", slots, threads)


def _positive(variable: str, default: int, most: int = MOST_SLOTS) -> int:
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= most:
        raise MachineError(f"{variable} is {text!r}; give a whole number from 1 to {most}.")
    return int(text)


def gpu_count() -> int:
    """GPUs that torch can use, asked of a process of its own so that torch is not loaded here."""
    global _gpus
    if _gpus is None:
        _gpus = _count_gpus() if Path("/dev/nvidiactl").exists() else 0
    return _gpus


_gpus: int | None = None


def _count_gpus() -> int:
    try:
        done = subprocess.run(
            [sys.executable, "-c", COUNT_GPUS], capture_output=True, text=True, timeout=COUNT_SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return 0
    return int(done.stdout.strip() or 0)
