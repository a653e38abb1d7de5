"""python -m podracer_core: train, evaluate, watch, film, export and unite agents, run tournaments; no web, no database.

torch is loaded only by `train` and `export`, once their arguments hold.
"""

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from podracer_core.commands import ensemble, envs, evaluate, export, play, tensorboard, tournament, train
from podracer_core.commands.common import BAD_INPUT, FAILED, CommandError
from podracer_core.errors import EnvironmentCrashedError, PodracerError, RenderError

COMMANDS = {
    "train": (train, "train one agent"),
    "evaluate": (evaluate, "play an agent in the real Gymnasium environment, and film it"),
    "play": (play, "watch an agent play in a window"),
    "export": (export, "write an agent for another runtime"),
    "ensemble": (ensemble, "make several agents one"),
    "tournament": (tournament, "run a whole tournament on this machine's cores, no server"),
    "tensorboard": (tensorboard, "write a tournament's curves for TensorBoard"),
    "envs": (envs, "list the environments of the catalogue"),
}


class _Parser(argparse.ArgumentParser):
    """Answers a wrong argument in one sentence."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message[0].upper()}{message[1:]}; see {self.prog} --help.")


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, 1 when training failed, 2 for input that does not hold."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        options = build_parser().parse_args(arguments)
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except PodracerError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED if isinstance(error, EnvironmentCrashedError | RenderError) else BAD_INPUT
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def build_parser() -> argparse.ArgumentParser:
    """The whole command line, which the documentation shows too."""
    parser = _Parser(prog="python -m podracer_core", description="Train and play deep-RL agents.")
    commands = parser.add_subparsers(required=True, metavar=f"{{{','.join(COMMANDS)}}}")
    for name, (command, about) in COMMANDS.items():
        one = commands.add_parser(name, help=about)
        command.add_arguments(one)
        one.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
