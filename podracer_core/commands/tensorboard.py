"""`tensorboard`: what a tournament's agents learned, as event files."""

import argparse
from pathlib import Path

from podracer_core.commands.common import CommandError
from podracer_core.local.event_files import event_files_write
from podracer_core.local.home import Home


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("home", type=Path, help="the folder of a tournament without a server")
    parser.add_argument("--out", required=True, type=Path, help="the folder to write, a run for each agent in it")


def run(options: argparse.Namespace) -> int:
    home = Home(options.home)
    _check_empty(options.out)
    try:
        count = event_files_write(home, options.out)
    except OSError as error:
        raise CommandError(f"--out {options.out} cannot be written: {error.strerror}.") from None
    print(f"{options.out}: {count:,} run{'' if count == 1 else 's'}; tensorboard --logdir {options.out} shows them.")
    return 0


def _check_empty(folder: Path) -> None:
    """Runs of before would stand beside the new ones, under the ranks that they had then."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError(f"--out {folder} is not an empty folder; name a new one.")
