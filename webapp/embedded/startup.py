"""What is looked at before anything starts: each thing that stands in the way is one sentence."""

import errno
import fcntl
import os
import shutil
import signal
import socket
from pathlib import Path

from webapp.embedded import process
from webapp.embedded.registry import run_folder
from webapp.environment import ConfigurationError

FREE_BYTES_NEEDED = 200_000_000


def disk_check(home: Path) -> None:
    """Raises ConfigurationError where PostgreSQL would soon have no room to write."""
    free = shutil.disk_usage(home).free
    if free < FREE_BYTES_NEEDED:
        raise ConfigurationError(
            f"The disk that holds PODRACER_HOME {home} is full: {free // 1_000_000} MB are free, "
            f"{FREE_BYTES_NEEDED // 1_000_000} MB are needed. Make room, or set PODRACER_HOME elsewhere."
        )


def home_lock(home: Path) -> int:
    """Hold the home for this process; the lock is let go when the process ends, however it ends.

    Returns the open file, to be kept open. Raises ConfigurationError where another process holds it.
    """
    path = run_folder(home) / "lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(handle, 32).decode() or "unknown"
        os.close(handle)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise ConfigurationError(f"{path} cannot be locked: {error.strerror}.") from error
        raise ConfigurationError(
            f"Podracer already runs on {home} (process {holder}): use that one or stop it, "
            "or set PODRACER_HOME to another folder."
        ) from error
    os.ftruncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle


def address_check(host: str, port: int) -> None:
    """Raises ConfigurationError where the web server could not listen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            raise ConfigurationError(_address_problem(host, port, error)) from error


def _address_problem(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use: stop the program that uses it, or set PORT to another one."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for the administrator: set PORT to one from 1024 to 65535."
    reason = error.strerror or str(error)
    return f"HOST is {host!r}, where Podracer cannot listen ({reason}): it must be an address of this machine."


def leftovers_end(home: Path, names: list[str]) -> None:
    """End the programs that a killed run left, known by the notes it made."""
    for name in names:
        note = run_folder(home) / f"{name}.json"
        found = process.record_process(note)
        if found is not None:
            process.end(found, [(signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)])
        note.unlink(missing_ok=True)
