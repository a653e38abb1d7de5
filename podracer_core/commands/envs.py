"""`envs`: the environments of the catalogue."""

import argparse
import json

from podracer_core.envs import catalogue


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    entries = catalogue.catalogue_list()
    if options.json:
        print(json.dumps([entry.model_dump(mode="json") for entry in entries], allow_nan=False))
        return 0
    rows = [("id", "observations", "actions", "max steps", "solved at", "backends")]
    for entry in entries:
        solved = "" if entry.solved_score is None else f"{entry.solved_score:g}"
        spaces = entry.observation_space.text, entry.action_space.text
        rows.append((entry.id, *spaces, str(entry.max_episode_steps or ""), solved, ", ".join(entry.backends)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0
