"""From a fresh clone to a served dashboard: `make run`, installation included, then once more.

    python -m benchmarks.start_up --limit 300 --again-limit 10

Clones this repository's HEAD into a temporary folder. Exits 1 when a limit is not held or something keeps running.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from tests.stack import REPOSITORY, free_port, wait_for

STOP_SECONDS = 60


def main() -> int:
    parser = argparse.ArgumentParser(description="Time `make run` from a fresh clone, and again.")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds, first start with installation")
    parser.add_argument("--again-limit", type=float, default=10.0, help="seconds, second start")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "podracer"
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
        first = start_and_stop(clone, arguments.limit)
        again = start_and_stop(clone, arguments.again_limit)
        left = [process.pid for process in psutil.process_iter(["cmdline"]) if _belongs(process, folder)]
    print(f"fresh clone to /readyz 200: {first:.1f} s (limit {arguments.limit:.0f} s)")
    print(f"second start to /readyz 200: {again:.1f} s (limit {arguments.again_limit:.0f} s)")
    print(f"processes left after Ctrl-C: {len(left)}")
    return 0 if first <= arguments.limit and again <= arguments.again_limit and not left else 1


def start_and_stop(clone: Path, limit: float) -> float:
    """Seconds from `make run` to /readyz 200; then Ctrl-C, as a terminal sends it."""
    port = free_port()
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))
    }
    environment["PORT"] = str(port)
    began = time.monotonic()
    with (clone.parent / "make-run.log").open("ab") as log:
        make = subprocess.Popen(
            ["make", "run"], cwd=clone, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    wait_for(lambda: _ready(port, make), max(limit, 60) * 3, "/readyz answering 200", every=0.05)
    seconds = time.monotonic() - began
    os.killpg(make.pid, signal.SIGINT)
    make.wait(STOP_SECONDS)
    return seconds


def _ready(port: int, make: "subprocess.Popen[bytes]") -> bool:
    if make.poll() is not None:
        raise RuntimeError(f"make run ended with {make.returncode}")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _belongs(process: psutil.Process, folder: str) -> bool:
    return any(folder in word for word in process.info["cmdline"] or ())


if __name__ == "__main__":
    sys.exit(main())
