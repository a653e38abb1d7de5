"""`export`: an agent for another runtime."""

import argparse
import json
from pathlib import Path

from podracer_core.commands.common import check_writable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", type=Path, help="a .safetensors file")
    parser.add_argument("--format", required=True, choices=("torchscript", "onnx"))
    parser.add_argument("--out", required=True, type=Path, help="the file to write")
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    from podracer_core.checkpoint import load_agent
    from podracer_core.export import export_agent

    check_writable(options.out)
    answer = export_agent(load_agent(options.agent), options.format, options.out)
    if options.json:
        print(json.dumps(answer, allow_nan=False))
    else:
        print(
            f"{options.out}: {answer['size']:,} bytes of {options.format}, equal to the agent on "
            f"{answer['observations']} observations (largest difference {answer['max_difference']:.2g})."
        )
    return 0
