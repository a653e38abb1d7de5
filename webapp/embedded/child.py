"""One program that the supervisor keeps running."""

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from webapp.embedded import process
from webapp.embedded.logbook import LogBook

LONG_LIFE_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
DEATHS_UNTIL_SAID = 5


class Child:
    """Starts a program, starts it again when it ends, and stops it with everything that it started.

    After a death it waits: 0.5 s, then twice as long each time up to 30 s, and from the start again once it
    lived 30 s. At the fifth death in a row it says so, with the program's last words, and goes on trying.
    """

    def __init__(
        self,
        name: str,
        spawn: Callable[[], subprocess.Popen[bytes]],
        log: LogBook,
        *,
        record: Path,
        stop_signals: Sequence[tuple[signal.Signals, float]],
        last_words: Callable[[], str] | None = None,
    ) -> None:
        """`stop_signals`: what ends it, each with the seconds it is given; then it is killed."""
        self.name = name
        self.spawn = spawn
        self.log = log
        self.record = record
        self.stop_signals = stop_signals
        self.last_words = last_words or self._last_lines
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0
        self._reader: threading.Thread | None = None
        self._started_at = 0.0
        self._next_start = 0.0

    def start(self) -> None:
        """Start it now."""
        self.process = self.spawn()
        self._started_at = time.monotonic()
        # A note for the case that we are killed. On a full disk, or of a program already gone, there is none.
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            process.record_write(self.record, self.process.pid)
        if self.process.stdout is not None:
            self._reader = self.log.follow(self.name, self.process.stdout)

    def keep(self) -> None:
        """Called again and again: notices its end, and starts it again when its pause is over."""
        if self.process is None:
            if time.monotonic() >= self._next_start:
                self.start()
        elif self.process.poll() is not None:
            self._ended(self.process)

    def keeps_ending(self) -> bool:
        """Whether it died so often in a row that somebody should look."""
        return self.deaths >= DEATHS_UNTIL_SAID

    def complaint(self) -> str:
        """One sentence about a program that keeps ending."""
        return (
            f"{self.name} keeps ending ({self.deaths} times in a row); its last words: {self.last_words()} "
            f"(all of them: {self.log.folder / self.name}.log)"
        )

    def stop(self, hurry: threading.Event) -> None:
        """End it and everything that it started. Once `hurry` is set, no step is given more than a moment."""
        child, self.process = self.process, None
        if child is None:
            return
        family = _family(child.pid)
        for number, seconds in [*self.stop_signals, (signal.SIGKILL, 5.0)]:
            if child.poll() is not None:
                break
            child.send_signal(number)
            _wait(child, seconds, hurry)
        process.group_signal(child.pid, signal.SIGKILL)
        for survivor in psutil.wait_procs(family, timeout=1.0)[1]:
            survivor.kill()
        if self._reader is not None:
            self._reader.join(1.0)  # its last words are often the ones that matter
        self.record.unlink(missing_ok=True)

    def _ended(self, child: subprocess.Popen[bytes]) -> None:
        # What it started and left behind must not work beside its successor.
        process.group_signal(child.pid, signal.SIGKILL)
        self.process = None
        self.record.unlink(missing_ok=True)
        now = time.monotonic()
        if now - self._started_at >= LONG_LIFE_SECONDS:
            self.deaths = 0
        self.deaths += 1
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (self.deaths - 1), LONGEST_PAUSE_SECONDS)
        self._next_start = now + pause
        self.log.line("podracer", f"{self.name} {_how(child.returncode)}; it is started again in {pause:g} s")
        if self.deaths == DEATHS_UNTIL_SAID:
            self.log.line("podracer", self.complaint())

    def _last_lines(self) -> str:
        return " | ".join(self.log.last_lines.get(self.name, [])) or "it said nothing"


def _family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _wait(child: subprocess.Popen[bytes], seconds: float, hurry: threading.Event) -> None:
    """Wait for the end, but at most `seconds`, and at most a moment once we are in a hurry."""
    deadline = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < deadline:
        if hurry.is_set():
            deadline = min(deadline, time.monotonic() + 0.5)
        time.sleep(0.02)


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    return f"was ended by {signal.Signals(-code).name}"
