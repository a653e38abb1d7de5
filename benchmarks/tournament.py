"""The default CartPole-v1 tournament on this machine: from its start to FINISHED, the winner confirmed by playing it.

    python -m benchmarks.tournament --seeds 1 2 3 --limit 30

Also measures how long a slot idles between a pod's end and the next pod's first env step (--idle-limit, ms).
Starts a Podracer of its own on a temporary home. Exits 1 when a limit is not held.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.stack import Stack

TARGET = 475.0


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder) / "home") as stack:
        results = [tournament(stack, seed, Path(folder)) for seed in arguments.seeds]
        gaps = idle_gaps(stack)
    for result in results:
        print(json.dumps(result))
    median = statistics.median(result["seconds"] for result in results)
    idle = statistics.median(gaps)
    print(f"tournament to FINISHED: median {median:.1f} s of {len(results)} seeds (limit {arguments.limit:.0f} s)")
    print(f"slot idle between pods: median {idle:.0f} ms, worst {max(gaps):.0f} ms of {len(gaps)} gaps")
    held = all(result["status"] == "FINISHED" and result["confirmed"] for result in results)
    return 0 if held and median <= arguments.limit and idle <= arguments.idle_limit else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--limit", type=float, default=30.0, help="seconds, median over the seeds")
    parser.add_argument("--idle-limit", type=float, default=150.0, help="milliseconds, median over the gaps")
    return parser.parse_args()


def tournament(stack: Stack, seed: int, folder: Path) -> dict[str, Any]:
    """One default tournament, and 100 fresh episodes of its champion's downloaded checkpoint in Gymnasium."""
    began = time.monotonic()
    identity = stack.tournament_start(env_id="CartPole-v1", seed=seed)
    ended = stack.wait_for_status(identity, "FINISHED", "FAILED", "STOPPED", seconds=300)
    seconds = time.monotonic() - began
    best = stack.api("GET", f"/tournaments/{identity}/leaderboard")["items"][0]
    checkpoint = folder / f"champion-{seed}.safetensors"
    checkpoint.write_bytes(stack.raw("GET", f"/agents/{best['agent']}/checkpoint"))
    played = evaluate(checkpoint)
    return {
        "seed": seed,
        "status": ended["status"],
        "seconds": round(seconds, 2),
        "pods": ended["pods"],
        "env_steps": ended["env_steps"],
        "score": best["score"],
        "played": played["score"],
        "confirmed": played["score"] >= TARGET,
    }


def evaluate(checkpoint: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "podracer_core", "evaluate", str(checkpoint), "--episodes", "100", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def idle_gaps(stack: Stack) -> list[float]:
    """Milliseconds between one pod's end and the next one's first env step, on each slot of a tournament of 12 pods."""
    identity = stack.tournament_start(env_id="CartPole-v1", round={"env_steps": 40_000}, stop={"pods": 12})
    stack.wait_for_status(identity, "FINISHED", seconds=300)
    pods = [pod for pod in stack.api("GET", f"/tournaments/{identity}/pods")["items"] if pod["stepping_since"]]
    gaps = []
    for slot in {pod["slot"] for pod in pods}:
        runs = sorted((_begin(pod), _begin(pod) + pod["seconds"]) for pod in pods if pod["slot"] == slot)
        gaps += [(later[0] - earlier[1]) * 1000 for earlier, later in pairwise(runs)]
    return gaps


def _begin(pod: dict[str, Any]) -> float:
    return datetime.fromisoformat(pod["stepping_since"]).timestamp()


if __name__ == "__main__":
    sys.exit(main())
