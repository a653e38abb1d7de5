"""What the parts of a running Podracer cost: CPU seconds and memory, by process tree."""

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

SERVICES = ("web", "scheduler", "valkey", "worker")


def service_pids(home: Path) -> dict[str, int]:
    """Of what the supervisor has started, by its notes."""
    pids = {name: json.loads((home / "run" / f"{name}.json").read_text())["pid"] for name in SERVICES}
    return pids | {"postgres": int((home / "postgres" / "postmaster.pid").read_text().split()[0])}


def cpu_seconds(pid: int) -> float:
    """Spent so far by a process, its children, and children that have ended."""
    spent = 0.0
    for process in _tree(pid):
        try:
            spent += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:  # its parent counts it now
            continue
    return spent


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


class Memory(threading.Thread):
    """Looks at the memory of some processes every second. samples: (time, {name: MB})"""

    def __init__(self, pids: Mapping[str, int]) -> None:
        super().__init__(daemon=True)
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}
        self._over = threading.Event()
        self.samples: list[tuple[float, dict[str, float]]] = []

    def run(self) -> None:
        while not self._over.is_set():
            self.samples.append(
                (time.monotonic(), {name: one.memory_info().rss / 1e6 for name, one in self._processes.items()})
            )
            self._over.wait(1.0)

    def stop(self) -> None:
        self._over.set()
        self.join()

    def course(self, name: str) -> tuple[float, float, float]:
        """At the beginning, in the middle and at the end."""
        values = [sample[name] for _, sample in self.samples]
        return values[0], values[len(values) // 2], values[-1]

    def slope(self, name: str) -> float:
        """MB a minute, of the line that fits best."""
        times = [at / 60 for at, _ in self.samples]
        values = [sample[name] for _, sample in self.samples]
        middle, mean = sum(times) / len(times), sum(values) / len(values)
        spread = sum((at - middle) ** 2 for at in times)
        return sum((at - middle) * (value - mean) for at, value in zip(times, values, strict=True)) / spread
