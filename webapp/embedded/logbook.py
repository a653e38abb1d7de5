"""One log of many programs: every line with its program's name on the terminal, and in a file of its own."""

import os
import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO

FILE_BYTES = 5_000_000
COLOURS = {"podracer": 36, "web": 32, "worker": 33, "scheduler": 35}
WIDTH = max(len(name) for name in COLOURS)


class LogBook:
    """Prints lines and appends them to `NAME.log` in a folder. May be used by many threads."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.folder = folder
        self.last_lines: dict[str, deque[str]] = {}
        self._lock = threading.Lock()
        self._echo = True
        self._coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def line(self, name: str, text: str) -> None:
        """One line that the program `name` said."""
        prefix = f"{name:<{WIDTH}} | "
        if self._coloured:
            prefix = f"\x1b[{COLOURS.get(name, 0)}m{prefix}\x1b[0m"
        with self._lock:
            self.last_lines.setdefault(name, deque(maxlen=5)).append(text)
            self._print(prefix + text)
            self._append(name, text)

    def plain(self, text: str) -> None:
        """A line to be taken as it is. It goes to the terminal only, for it may be secret."""
        with self._lock:
            self._print(text)

    def follow(self, name: str, stream: IO[bytes]) -> threading.Thread:
        """Log all lines of a program's output, from a thread, until it ends."""
        thread = threading.Thread(target=self._drain, args=(name, stream), daemon=True)
        thread.start()
        return thread

    def _drain(self, name: str, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                if text := line.decode(errors="replace").rstrip():
                    self.line(name, text)

    def _print(self, text: str) -> None:
        if not self._echo:
            return
        try:
            print(text, flush=True)
        except (OSError, ValueError):
            # The terminal is gone. The files go on, and the programs must not stop for want of a reader.
            self._echo = False

    def _append(self, name: str, text: str) -> None:
        path = self.folder / f"{name}.log"
        try:
            with path.open("a") as file:
                file.write(text + "\n")
                full = file.tell() > FILE_BYTES
            if full:
                path.replace(path.with_suffix(".log.1"))
        except OSError:
            # A full disk must not end the training; the line is on the terminal.
            pass


def file_trim(path: Path) -> None:
    """Keep a log that a program writes by itself short: its end moves to `.1`, and it starts again empty."""
    try:
        if path.stat().st_size > FILE_BYTES:
            path.with_suffix(".log.1").write_bytes(path.read_bytes()[-FILE_BYTES:])
            os.truncate(path, 0)
    except OSError:
        # Not there yet, or no room for the copy: tried again at the next turn.
        pass
