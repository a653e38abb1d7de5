"""`ensemble`: several agents as one policy, in one file."""

import argparse
import json
from pathlib import Path

from podracer_core.commands.common import check_writable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agents", type=Path, nargs="+", help="two or more .safetensors files, the best agent first")
    parser.add_argument("--out", required=True, type=Path, help="the .safetensors file to write")
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    from podracer_core.checkpoint import load_agent
    from podracer_core.ensemble import make_ensemble, save_ensemble

    check_writable(options.out)
    ensemble = make_ensemble([load_agent(path) for path in options.agents])
    save_ensemble(ensemble, options.out)
    algorithms = [member.metadata["algorithm"] for member in ensemble.members]
    if options.json:
        print(json.dumps({"env_id": ensemble.env_id, "members": algorithms, "size": options.out.stat().st_size}))
    else:
        print(f"{options.out}: {len(algorithms)} agents ({', '.join(algorithms)}) as one on {ensemble.env_id}.")
    return 0
