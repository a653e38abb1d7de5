"""What stands in the way of a start is said in one sentence, and nothing is started."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.stack import REPOSITORY, free_port

Running = Callable[[], list[psutil.Process]]

SMALL_DISK = 'mount -t tmpfs -o size=16m none "$PODRACER_HOME" && exec "$0" -m webapp.embedded'


def up(home: Path, **environment: str) -> tuple[int, str]:
    """`manage.py up` until it ends; its exit code and all it said."""
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    clean.pop("DJANGO_SETTINGS_MODULE", None)
    done = subprocess.run(
        [sys.executable, "-m", "webapp.embedded"],
        cwd=REPOSITORY,
        env=clean | {"PODRACER_HOME": str(home), "PORT": str(free_port())} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def assert_refused(outcome: tuple[int, str], sentence: str) -> None:
    code, said = outcome
    assert code == 1
    assert said.startswith("podracer: ")
    assert said.count("\n") == 1
    assert sentence in said


def test_a_busy_port_is_named(home: Path, running: Running) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert_refused(up(home, PORT=str(port)), f"Port {port} on 127.0.0.1 is in use")
    assert running() == []
    assert not (home / "postgres").exists()


def test_an_address_of_another_machine_is_named(home: Path) -> None:
    assert_refused(up(home, HOST="192.0.2.7"), "HOST is '192.0.2.7'")


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_a_port_that_is_none_is_named(home: Path, port: str) -> None:
    assert_refused(up(home, PORT=port), f"PORT is '{port}': it must be a whole number from 1 to 65535")


def test_a_home_that_cannot_be_written_is_named(home: Path) -> None:
    (home / "file").write_text("in the way")
    assert_refused(up(home / "file"), f"PODRACER_HOME {home / 'file'} cannot be written to")
    assert_refused(up(home / "file" / "below"), "cannot be written to")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare to mount a small disk")
def test_a_full_disk_is_named(home: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, sys.executable],
        cwd=REPOSITORY,
        env=clean | {"PODRACER_HOME": str(home), "PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    assert_refused((done.returncode, done.stdout + done.stderr), "is full: 16 MB are free")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("DATABASE_URL", "mysql://root@db/podracer", "DATABASE_URL has the scheme 'mysql'"),
        ("DATABASE_URL", "postgresql://db", "DATABASE_URL names no database"),
        ("REDIS_URL", "http://cache", "REDIS_URL has the scheme 'http'"),
        ("STORAGE_URL", "ftp://files", "STORAGE_URL is 'ftp://files'"),
        ("PODRACER_SECRET_KEY", "short", "PODRACER_SECRET_KEY has 5 characters"),
        ("PODRACER_ALLOWED_ORIGINS", "example.com", "PODRACER_ALLOWED_ORIGINS holds 'example.com'"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(home: Path, name: str, value: str, sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=REPOSITORY,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "webapp.settings", "PODRACER_HOME": str(home), name: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert_refused((done.returncode, done.stdout + done.stderr), sentence)
