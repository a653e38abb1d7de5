"""What the commands share: errors in a sentence, numbers as arguments, files that can be written."""

import argparse
import math
import os
import sys
import tempfile
from pathlib import Path

from podracer_core.errors import PodracerError
from podracer_core.limits import most_threads

BAD_INPUT, FAILED = 2, 1


class CommandError(PodracerError):
    """What was asked for cannot be done; the text is for the person at the terminal."""


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def natural(text: str) -> int:
    return _whole(text, 0)


def positive(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value < 2**53:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} up")
    return value


def check_threads(threads: int) -> None:
    if threads > most_threads():
        raise CommandError(f"--threads {threads} is too many for this machine; at most {most_threads()}.")


def check_writable(out: Path, option: str = "--out") -> None:
    """Tries now, rather than after the work."""
    if out.is_dir():
        raise CommandError(f"{option} {out} is a folder; name a file, such as {out / 'agent.safetensors'}.")
    try:
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=f".{out.name[:40]}."):
            pass
        if out.exists() and not os.access(out, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise CommandError(f"{option} {out} cannot be written: {error.strerror}.") from None


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
