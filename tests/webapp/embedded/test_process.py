"""Processes are looked up, asked and ended, whatever becomes of them in between."""

import signal
import subprocess
import sys

import psutil

from webapp.embedded import process


def test_who_ended_after_being_looked_up_has_no_descendants_and_counts_as_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        found = psutil.Process(started.pid)
        started.communicate(b"\n")
    assert process.descendants(found) == []
    assert process.end(found, [(signal.SIGKILL, 1.0)])
