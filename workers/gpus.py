"""The GPUs that torch can use here, and how busy they are, as NVIDIA's driver says.

torch is asked in a process of its own, so that it is not loaded here. The driver is asked through NVML, the library
that comes with it: https://docs.nvidia.com/deploy/nvml-api/
"""

import ctypes
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

LIST_GPUS = """
import json, torch
found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
print(json.dumps([[gpu.name, gpu.total_memory, str(gpu.uuid)] for gpu in found]))
"""
LIST_SECONDS = 120
NVML = "libnvidia-ml.so.1"


@dataclass(frozen=True, slots=True)
class Gpu:
    """memory: in bytes; uuid: what the driver knows it by, whatever CUDA_VISIBLE_DEVICES leaves visible"""

    name: str
    memory: int
    uuid: str


@cache
def gpu_list() -> tuple[Gpu, ...]:
    """The GPUs in the order in which torch numbers them; none where there is no driver."""
    if not Path("/dev/nvidiactl").exists():
        return ()
    command = [sys.executable, "-c", LIST_GPUS]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIST_SECONDS, check=True)
        return tuple(Gpu(name, memory, uuid) for name, memory, uuid in json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.SubprocessError, OSError, ValueError, IndexError):
        return ()


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


@dataclass(frozen=True, slots=True)
class GpuLoad:
    """busy: the share of the time in which a kernel ran; memory: bytes in use. None where the driver does not say."""

    busy: float | None = None
    memory: int | None = None


class GpuMeter:
    """Asks the driver, and goes without where it cannot be asked."""

    def __init__(self, gpus: tuple[Gpu, ...]) -> None:
        self._handles: list[ctypes.c_void_p | None] = [None] * len(gpus)
        if not gpus:
            return
        with suppress(OSError, AttributeError):
            self._library: Any = ctypes.CDLL(NVML)
            if self._library.nvmlInit_v2() == 0:
                self._handles = [self._handle(gpu) for gpu in gpus]

    def _handle(self, gpu: Gpu) -> ctypes.c_void_p | None:
        handle = ctypes.c_void_p()
        uuid = gpu.uuid if gpu.uuid.startswith("GPU-") else f"GPU-{gpu.uuid}"
        return handle if self._library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)) == 0 else None

    def loads(self) -> list[GpuLoad]:
        """How each GPU is now."""
        return [self._load(handle) if handle else GpuLoad() for handle in self._handles]

    def _load(self, handle: ctypes.c_void_p) -> GpuLoad:
        utilization, memory = _Utilization(), _Memory()
        busy = self._library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(utilization)) == 0
        known = self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
        return GpuLoad(utilization.gpu / 100 if busy else None, int(memory.used) if known else None)
