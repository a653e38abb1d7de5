"""Starting programs that end with us, and finding and ending those of an earlier run."""

import functools
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from podracer_core.errors import PodracerError
from webapp.embedded import launch as launcher
from webapp.embedded.registry import private_file_write

Output = int | IO[bytes]


class ServiceError(PodracerError):
    """A program that Podracer starts did not start, or ended."""


@dataclass(frozen=True)
class Identity:
    """As whom a program runs: see launch.py."""

    mode: str = "plain"
    uid: int = 0


@functools.cache
def ordinary_identity() -> Identity:
    """An identity that is not root's, the first of the possible ones. Raises ServiceError if none is."""
    if os.geteuid() != 0:
        return Identity()
    # 65534 also stands for everybody without a number in a namespace, so another is clearer there.
    uids = sorted({entry.pw_uid for entry in pwd.getpwall()} - {0, 65534})
    identities = [Identity("namespace", uids[0] if uids else 65534), Identity("account", 65534)]
    for identity in identities:
        with launch(["true"], output=subprocess.DEVNULL, identity=identity) as probe:
            if probe.wait(30) == 0:
                return identity
    raise ServiceError(
        "PostgreSQL does not run as root, and this machine lets root neither make a user namespace nor "
        "change its user: start Podracer as another user, or set DATABASE_URL to a PostgreSQL that runs."
    )


def launch(
    command: Sequence[str],
    *,
    output: Output,
    identity: Identity | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
    environment: dict[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; when this process ends, it gets `death_signal`.

    On Linux already when this thread ends: call it from one that lasts.
    `output` gets its stdout and stderr. The program's pid is the returned process's: launch.py becomes it.
    """
    identity = identity or Identity()
    script = [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), str(int(death_signal))]
    return subprocess.Popen(
        [*script, identity.mode, str(identity.uid), *command],
        stdin=stdin,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )


def record_write(path: Path, pid: int) -> None:
    """Note a process, so that the next run can find it whatever happens to this one."""
    started = psutil.Process(pid).create_time()
    private_file_write(path, json.dumps({"pid": pid, "started": started}))


def record_process(path: Path) -> psutil.Process | None:
    """The noted process, if it still is that one: a number used again by another program does not count."""
    try:
        note = json.loads(path.read_text())
        process = psutil.Process(note["pid"])
        # The clock that start times are reckoned from may be set in between, so not to the millisecond.
        same = abs(process.create_time() - note["started"]) < 2
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (FileNotFoundError, ValueError, KeyError, psutil.NoSuchProcess):
        return None


def group_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to all of the group that `pid` leads. No error if it is gone."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:  # macOS: a group of which only a zombie is left
        pass


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Children, theirs and so on; none of a process that is gone."""
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def end(process: psutil.Process, steps: Sequence[tuple[signal.Signals, float]]) -> bool:
    """Send each signal in turn, waiting the seconds beside it, until the process is gone. True if it is."""
    for number, seconds in steps:
        try:
            process.send_signal(number)
            process.wait(seconds)
        except psutil.NoSuchProcess:
            return True
        except psutil.TimeoutExpired:
            continue
        return True
    return False


def wait_until(condition: Callable[[], bool], *, seconds: float, pause: float = 0.02) -> bool:
    """Ask until the condition holds or the time is over; the last answer."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def file_tail(path: Path, *, lines: int = 5, size: int = 8192) -> list[str]:
    """The last lines of a log, without blank ones."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - size))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]


def last_words(log: Path) -> str:
    """The end of a log, in one line; a full disk is said plainly."""
    lines = file_tail(log)
    if any("No space left on device" in line for line in lines):
        return f"the disk that holds {log.parent.parent} is full"
    return " | ".join(lines) or "it said nothing"
