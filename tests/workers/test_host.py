"""What a worker says of its host, against a driver that answers as NVIDIA's does."""

import ctypes
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from workers import gpus, host
from workers.gpus import Gpu, GpuLoad, GpuMeter
from workers.machine import Machine

MACHINE = Machine("w", "cpu", 1, 1)
BUSY, USED = 37, 5 * 2**30


class Driver:
    """The functions of NVML that are used, with its out-parameters; it knows one GPU."""

    def __init__(self, *, says_busy: bool = True) -> None:
        self.says_busy = says_busy

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        handle._obj.value = 1
        return 0 if uuid == b"GPU-1234" else 6

    def nvmlDeviceGetUtilizationRates(self, handle: ctypes.c_void_p, rates: Any) -> int:
        rates._obj.gpu, rates._obj.memory = BUSY, 99
        return 0 if self.says_busy else 3

    def nvmlDeviceGetMemoryInfo(self, handle: ctypes.c_void_p, memory: Any) -> int:
        memory._obj.total, memory._obj.free, memory._obj.used = 8 * 2**30, 3 * 2**30, USED
        return 0


def meter(monkeypatch: pytest.MonkeyPatch, driver: Driver, *names: str) -> GpuMeter:
    monkeypatch.setattr(gpus.ctypes, "CDLL", lambda name: driver)
    return GpuMeter(tuple(Gpu("A GPU", 8 * 2**30, name) for name in names))


def test_the_driver_says_how_busy_each_gpu_is_that_torch_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = meter(monkeypatch, Driver(), "1234", "GPU-1234", "5678").loads()
    assert loads == [GpuLoad(0.37, USED), GpuLoad(0.37, USED), GpuLoad()]


def test_what_the_driver_does_not_say_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    assert meter(monkeypatch, Driver(says_busy=False), "1234").loads() == [GpuLoad(None, USED)]
    monkeypatch.undo()
    monkeypatch.setattr(gpus, "NVML", "libnowhere.so.1")
    assert GpuMeter((Gpu("A GPU", 1, "1234"),)).loads() == [GpuLoad()]
    assert GpuMeter(()).loads() == []


def test_the_host_is_described_in_numbers_that_hold() -> None:
    facts = host.host_facts(MACHINE)
    assert facts["cores"] == len(os.sched_getaffinity(0))
    assert facts["cpu"]
    assert 0 < facts["memory"] <= psutil.virtual_memory().total
    assert facts["gpus"] == []


def test_the_limit_of_a_container_is_its_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(host, "CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert host.memory_bytes()[1] == psutil.virtual_memory().total
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 400000\ninactive_file 300000\n")
    assert host.memory_bytes() == (600_000, 1_000_000)


def test_usage_is_the_share_of_the_cores_since_the_last_sample_and_the_last_minutes_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = psutil.cpu_times(percpu=True)[0]
    now = {"seconds": 1000.0, "idle": 100.0, "user": 0.0}

    def cpu_times(percpu: bool) -> list[Any]:
        still = core._replace(**dict.fromkeys(core._fields, 0.0))
        return [still._replace(idle=now["idle"], user=now["user"])]

    monkeypatch.setattr(host.psutil, "cpu_times", cpu_times)
    monkeypatch.setattr(host.time, "monotonic", lambda: now["seconds"])
    meter = host.UsageMeter("cpu")
    assert meter.usage()["cpu"] == [], "nothing has passed"
    for _ in range(host.KEPT_SAMPLES + 5):
        now["seconds"] += host.EVERY_SECONDS
        now["idle"], now["user"] = now["idle"] + 3, now["user"] + 1
        meter.usage()
        now["seconds"] += 0.1
        usage = meter.usage()  # asked again at once: no sample of its own
        now["seconds"] -= 0.1
    assert usage["cpu"] == [0.25] * host.KEPT_SAMPLES
    assert len(usage["memory"]) == host.KEPT_SAMPLES
    assert usage["gpus"] == []
