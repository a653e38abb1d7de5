"""What a worker says of its host: what it is, and how busy it was over the last minutes.

The facts are {host, cpu, cores, threads, memory, gpus: [{name, memory}]}; the usage is columns, the oldest first:
{every, cpu, memory, gpus: [{busy, memory}]}, in seconds, shares and bytes.
"""

import platform
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from workers.gpus import GpuLoad, GpuMeter, gpu_list
from workers.machine import Machine, cores_allowed

KEPT_SAMPLES = 60
EVERY_SECONDS = 5.0

CGROUP = Path("/sys/fs/cgroup")


def host_facts(here: Machine) -> dict[str, Any]:
    """What does not change while the worker runs."""
    gpus = gpu_list() if here.device_kind == "cuda" else ()
    return {
        "host": socket.gethostname(),
        "cpu": cpu_model(),
        "cores": len(cores_allowed()),
        "threads": here.threads,
        "memory": memory_bytes()[1],
        "gpus": [{"name": gpu.name, "memory": gpu.memory} for gpu in gpus],
    }


def cpu_model() -> str:
    """The processor's name as its maker gives it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine()


def memory_bytes() -> tuple[int, int]:
    """Bytes in use that cannot be had back, and all there are; of the container where one sets a limit."""
    host = psutil.virtual_memory()
    with suppress(OSError, ValueError):  # "max", where there is no limit
        limit = int((CGROUP / "memory.max").read_text())
        if limit < host.total:
            used = int((CGROUP / "memory.current").read_text())
            counts = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
            return max(0, used - int(counts.get("inactive_file", 0))), limit
    return host.total - host.available, host.total


@dataclass(frozen=True, slots=True)
class Sample:
    cpu: float
    memory: int
    gpus: list[GpuLoad]


class UsageMeter:
    """Keeps the usage of the last minutes. Used by one thread."""

    def __init__(self, device_kind: str) -> None:
        self._cores = cores_allowed()
        self._gpus = GpuMeter(gpu_list() if device_kind == "cuda" else ())
        self._samples: deque[Sample] = deque(maxlen=KEPT_SAMPLES)
        self._cpu = self._cpu_seconds()
        self._sampled_at = time.monotonic()

    def usage(self) -> dict[str, Any]:
        """The last minutes, to now where a sample is due."""
        if time.monotonic() - self._sampled_at >= EVERY_SECONDS * 0.9:
            self._sampled_at = time.monotonic()
            self._samples.append(Sample(self._cpu_share(), memory_bytes()[0], self._gpus.loads()))
        samples = list(self._samples)
        count = len(samples[0].gpus) if samples else 0
        return {
            "every": EVERY_SECONDS,
            "cpu": [round(sample.cpu, 3) for sample in samples],
            "memory": [sample.memory for sample in samples],
            "gpus": [
                {
                    "busy": [sample.gpus[index].busy for sample in samples],
                    "memory": [sample.gpus[index].memory for sample in samples],
                }
                for index in range(count)
            ],
        }

    def _cpu_share(self) -> float:
        """How busy the cores were since the last time."""
        (busy, total), (busy_before, total_before) = now, _ = self._cpu_seconds(), self._cpu
        self._cpu = now
        elapsed = total - total_before
        return min(1.0, max(0.0, (busy - busy_before) / elapsed)) if elapsed > 0 else 0.0

    def _cpu_seconds(self) -> tuple[float, float]:
        """Seconds that the cores that may be used here have worked, and have existed."""
        times = psutil.cpu_times(percpu=True)
        mine = [times[core] for core in self._cores if core < len(times)] or times
        idle = sum(core.idle + getattr(core, "iowait", 0.0) for core in mine)
        # A guest's time is in `user` already.
        total = sum(sum(core) - getattr(core, "guest", 0.0) - getattr(core, "guest_nice", 0.0) for core in mine)
        return total - idle, total
