"""`python -m podracer_client`: a Podracer from the command line."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from podracer_client.answers import Status
from podracer_client.client import DEFAULT_URL, Client
from podracer_client.errors import ClientError
from podracer_client.terminal import Lines, Screen, View

FAILED, INTERRUPTED = 1, 130
CONTROLS = ("start", "pause", "resume", "stop")
EXPORTS = ("json", "csv", "tensorboard")
HERE = Path()


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0; 1 where something failed, with a sentence on stderr; 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        status = int(options.command(Client(options.url), options) or 0)
        sys.stdout.flush()  # what is still in its buffer fails here, or it would when Python has ended
        return status
    except (ClientError, TimeoutError) as error:
        print(f"podracer: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"podracer:{where} {error.strerror or error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m podracer_client", description="A Podracer from the command line.")
    parser.add_argument("--url", help=f"else PODRACER_URL, else {DEFAULT_URL}; the token is PODRACER_TOKEN's")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[Client, argparse.Namespace], int | None], about: str) -> Any:
        made = commands.add_parser(name, help=about, description=about)
        made.set_defaults(command=command)
        return made

    submit = add("submit", _submit, "Create a tournament from a .toml or .json file and start it.")
    submit.add_argument("spec", type=Path)
    submit.add_argument("--draft", action="store_true", help="do not start it")
    submit.add_argument("--watch", action="store_true", help="then watch it until it ends")
    found = add("list", _list, "Tournaments, the newest first.")
    found.add_argument("--search", default="", metavar="TEXT", help="a part of their names")
    found.add_argument("--status", type=str.upper, choices=get_args(Status))
    found.add_argument("--env", default="", metavar="ID", help="of this environment")
    found.add_argument("--sort", choices=("newest", "score", "env_steps"), default="newest", help="what comes first")
    watch = add("watch", _watch, "Watch a tournament live until it ends.")
    watch.add_argument("tournament", metavar="TOURNAMENT")
    watch.add_argument("--json", action="store_true", help="every message as a line of JSON")
    for verb in CONTROLS:
        control = add(verb, _control, f"{verb.capitalize()} a tournament.")
        control.add_argument("tournament", metavar="TOURNAMENT")
        control.set_defaults(verb=verb)
    board = add("leaderboard", _leaderboard, "The leaderboard as JSON, one agent a line.")
    board.add_argument("tournament", metavar="TOURNAMENT")
    download = add("download", _download, "An agent's checkpoint, or the agent in another format.")
    which = download.add_mutually_exclusive_group(required=True)
    which.add_argument("agent", nargs="?", metavar="AGENT", help="its id")
    which.add_argument("--champion", metavar="TOURNAMENT", help="the best agent of this tournament")
    download.add_argument("--format", choices=("safetensors", "onnx", "torchscript"), default="safetensors")
    download.add_argument("--out", type=Path, default=HERE, help="file or folder, else here; Podracer names it")
    export = add("export", _export, "A whole tournament as one file.")
    export.add_argument("tournament", metavar="TOURNAMENT")
    about = "all there is, every point of every curve, or a zip of event files for TensorBoard"
    export.add_argument("--format", choices=EXPORTS, default="json", help=about)
    export.add_argument("--out", type=Path, default=HERE, help="file or folder, else here; Podracer names it")
    return parser


def _submit(client: Client, options: argparse.Namespace) -> int | None:
    tournament = client.submit(options.spec, start=not options.draft)
    print(f"{client.url}/tournaments/{tournament['id']}/", file=sys.stderr)
    if options.watch:
        options.tournament, options.json = tournament["id"], False
        return _watch(client, options)
    print(tournament["id"])
    return None


def _list(client: Client, options: argparse.Namespace) -> None:
    wanted = {"search": options.search, "status": options.status, "env_id": options.env, "sort": options.sort}
    for tournament in client.tournaments(**wanted):
        score = tournament["best_score"]
        best = "" if score is None else f"  best {score:,.1f}"
        pods = f"{tournament['pods']['FINISHED']:,} pods"
        print(f"{tournament['id']:>6}  {tournament['status']:8}  {pods:>10}  {tournament['name']}{best}")


def _watch(client: Client, options: argparse.Namespace) -> int | None:
    """Exit status 1 when the tournament failed, or was deleted before it ended."""
    view = View()
    show = Screen(sys.stdout) if sys.stdout.isatty() else Lines(sys.stdout)
    for message in client.watch(options.tournament):
        view.apply(message)
        if options.json:
            print(json.dumps(message), flush=True)
        else:
            show(view)
        if view.over:
            break
    assert view.tournament is not None
    if not view.over:
        raise ClientError(f"Tournament {options.tournament} was deleted.")
    if not options.json:
        # Its end is told before the events that led there.
        view.complete(client.leaderboard(options.tournament), list(client.events(options.tournament)))
        show(view)
        print(f"{view.tournament['status'].capitalize()}: {view.tournament['reason']}", file=sys.stderr)
    return FAILED if view.tournament["status"] == "FAILED" else None


def _control(client: Client, options: argparse.Namespace) -> None:
    print(getattr(client, options.verb)(options.tournament)["status"])


def _leaderboard(client: Client, options: argparse.Namespace) -> None:
    for entry in client.leaderboard(options.tournament):
        print(json.dumps(entry))


def _download(client: Client, options: argparse.Namespace) -> None:
    agent_id = options.agent
    if options.champion:
        agent_id = client.tournament(options.champion)["best_agent"]
        if agent_id is None:
            raise ClientError(f"Tournament {options.champion} has no agent on its leaderboard yet.")
    if options.format == "safetensors":
        print(client.download_checkpoint(agent_id, options.out))
    else:
        print(client.download_export(agent_id, options.format, options.out))


def _export(client: Client, options: argparse.Namespace) -> None:
    print(client.export_tournament(options.tournament, options.out, options.format))


if __name__ == "__main__":
    sys.exit(main())
