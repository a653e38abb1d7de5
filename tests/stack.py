"""A whole Podracer for tests and benchmarks: `manage.py up` on a home and a port of its own, and its API."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil

REPOSITORY = Path(__file__).resolve().parent.parent
READY_SECONDS = 90.0
STOP_SECONDS = 40.0
KILL_SECONDS = 20.0

Found = TypeVar("Found")


class ApiError(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status: int, body: str) -> None:
        self.status = status
        self.body = body
        super().__init__(f"{status}: {body[:500]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], Found | None], seconds: float, what: str, every: float = 0.05) -> Found:
    """The first true answer of `condition`, asked again and again. Raises TimeoutError naming `what`."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(every)


def descendants(pid: int, *words: str) -> list[psutil.Process]:
    """Of a process, those whose command line has all `words`. One that ends meanwhile is none."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if all(word in line for word in words):
                found.append(process)
    return found


def all_killed(processes: list[psutil.Process]) -> None:
    """SIGKILL for each, and the wait until none is left. Some end with one that was killed before them."""
    for victim in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    assert psutil.wait_procs(processes, timeout=10)[1] == []


class Stack:
    """Web, worker, scheduler, PostgreSQL and Valkey under the supervisor, as `make run` starts them."""

    def __init__(self, home: Path, port: int | None = None, **environment: str) -> None:
        self.home = home
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        clean = {
            name: value
            for name, value in os.environ.items()
            if name not in ("DATABASE_URL", "REDIS_URL", "STORAGE_URL", "DJANGO_SETTINGS_MODULE", "PODRACER_SECRET_KEY")
        }
        self.environment = {**clean, "PODRACER_HOME": str(home), "HOST": "127.0.0.1", "PORT": str(self.port)}
        self.environment.update(environment)
        self.output = home.parent / f"{home.name}-output.log"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Stack":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> float:
        """Start, wait for /readyz, and return the seconds that took."""
        began = time.monotonic()
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=REPOSITORY,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_for(self._ready, READY_SECONDS, "/readyz answering 200")
        except TimeoutError as error:
            self.stop()
            raise TimeoutError(f"{error}; it said:\n{self.log()[-4000:]}") from None
        return time.monotonic() - began

    def _ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"it ended with {self.process.returncode}; it said:\n{self.log()[-4000:]}")
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        """Ctrl-C, and kill what does not obey."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def log(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def processes(self, *words: str) -> list[psutil.Process]:
        """Descendants of the supervisor whose command line has all `words`."""
        assert self.process is not None
        return descendants(self.process.pid, *words)

    def kill_one(self, *words: str) -> None:
        """SIGKILL for one of these, waited for where there is none."""

        def killed() -> bool:
            for process in self.processes(*words):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
                    return True
            return False

        wait_for(killed, KILL_SECONDS, f"a process {words} to kill")

    def pid_of(self, name: str) -> int:
        """Of web, worker, scheduler, postgres or valkey. Raises FileNotFoundError while it is not running."""
        return int(json.loads((self.home / "run" / f"{name}.json").read_text())["pid"])

    @property
    def token(self) -> str:
        return (self.home / "owner-token").read_text().strip()

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON answer of `/api/...`. Raises ApiError."""
        data = self.raw(method, path, None if body is None else json.dumps(body).encode())
        return json.loads(data) if data else None

    def raw(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(
            f"{self.url}/api{path}",
            data=body,
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, error.read().decode(errors="replace")) from None

    def tournament_start(self, **spec: Any) -> str:
        """Create and start a tournament; returns its id."""
        return str(self.api("POST", "/tournaments?start=true", spec)["id"])

    def wait_for_status(self, tournament_id: str, *statuses: str, seconds: float = 120.0) -> Any:
        """The tournament once it is in one of `statuses`."""

        def reached() -> Any:
            with contextlib.suppress(OSError, ApiError):  # the web process may be restarting
                found = self.api("GET", f"/tournaments/{tournament_id}")
                return found if found["status"] in statuses else None
            return None

        return wait_for(reached, seconds, f"tournament {tournament_id} being {' or '.join(statuses)}", every=0.2)
