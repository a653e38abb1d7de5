"""A program that the supervisor keeps running."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.stack import wait_for
from webapp.embedded import child as child_module
from webapp.embedded import process
from webapp.embedded.child import Child
from webapp.embedded.logbook import LogBook

FOREVER = "import time\nwhile True: time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True)\n{FOREVER}"
GRANDPARENT = (
    f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {FOREVER!r}]).pid, flush=True)\n{FOREVER}"
)


@pytest.fixture
def make(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Child]:
    monkeypatch.setattr(child_module, "FIRST_PAUSE_SECONDS", 0.001)
    log = LogBook(home / "logs")

    def child(code: str, grace: float = 5.0) -> Child:
        return Child(
            "worker",
            lambda: process.launch([sys.executable, "-c", code], output=subprocess.PIPE),
            log,
            record=home / "worker.json",
            stop_signals=[(signal.SIGTERM, grace)],
        )

    return child


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_it_is_started_again_when_it_ends(make: Callable[..., Child]) -> None:
    child = make(FOREVER)
    child.start()
    assert child.process is not None
    first = child.process
    first.kill()
    first.wait(10)

    def started_again() -> bool:
        child.keep()
        return child.process not in (None, first)

    wait_for(started_again, 10, "another start")
    assert child.deaths == 1
    child.stop(threading.Event())


def test_one_that_keeps_ending_is_named_with_its_last_words(
    make: Callable[..., Child], capsys: pytest.CaptureFixture[str]
) -> None:
    child = make("import sys; sys.exit('the queue is on fire')")
    child.start()

    def gave_up_hope() -> bool:
        child.keep()
        return child.keeps_ending()

    wait_for(gave_up_hope, 20, "five deaths")
    child.stop(threading.Event())
    said = [line for line in capsys.readouterr().out.splitlines() if "keeps ending" in line]
    assert len(said) == 1
    assert "the queue is on fire" in said[0]
    assert "worker.log" in said[0]


def test_its_lines_carry_its_name_and_are_kept_in_a_file(
    home: Path, make: Callable[..., Child], capsys: pytest.CaptureFixture[str]
) -> None:
    child = make("print('one lap')")
    child.start()
    wait_for(lambda: "one lap" in "".join(child.log.last_lines.get("worker", [])), 10, "its line")
    child.stop(threading.Event())
    assert "worker    | one lap\n" in capsys.readouterr().out
    assert (home / "logs" / "worker.log").read_text() == "one lap\n"


def test_one_that_does_not_obey_is_killed(make: Callable[..., Child]) -> None:
    child = make(STUBBORN, grace=0.1)
    child.start()
    wait_for(lambda: "deaf" in child.log.last_lines.get("worker", []), 10, "its start")
    assert child.process is not None
    pid = child.process.pid
    child.stop(threading.Event())
    assert is_gone(pid)


def test_in_a_hurry_nothing_is_waited_for(make: Callable[..., Child]) -> None:
    child = make(STUBBORN, grace=600.0)
    child.start()
    wait_for(lambda: "deaf" in child.log.last_lines.get("worker", []), 10, "its start")
    hurry = threading.Event()
    hurry.set()
    assert child.process is not None
    pid = child.process.pid
    child.stop(hurry)
    assert is_gone(pid)


def test_what_it_started_ends_with_it(make: Callable[..., Child]) -> None:
    child = make(GRANDPARENT)
    child.start()
    said = wait_for(lambda: child.log.last_lines.get("worker"), 10, "the grandchild's pid")
    grandchild = int(said[0])
    child.stop(threading.Event())
    assert is_gone(grandchild)
