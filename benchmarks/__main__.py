"""`make bench`: every measurement that takes minutes, one after another; exits 1 when one does not hold its limit.

About 17 minutes, and some more for what was added since that was timed (`--history`, elastic, viewers, lists), once the
libraries to compare with are installed, which takes as long again the first time; their results go under
var/benchmarks. Some limits do not hold yet, so that it exits 1: docs/benchmarks.md, docs/operations.md. There too the
longer comparisons, and the results that are kept.

python -m benchmarks            all of them
python -m benchmarks --list     their commands
"""

import argparse
import subprocess
import sys

PEERS, OUT = "benchmarks.peers run", "--results var/benchmarks/results"

COMMANDS = [
    "benchmarks.train_to_target --env CartPole-v1 --target-score 475 --seeds 1 2 3 4 5 --limit 10",
    "benchmarks.train_to_target --env Pendulum-v1 --target-score -200 --seeds 1 2 3 4 5 --limit 45",
    "benchmarks.tournament --seeds 1 2 3 --limit 30 --idle-limit 150",
    "benchmarks.orchestrator --tournaments 8 --seconds 20 --limit 200",
    "benchmarks.orchestrator --history 100000",
    "benchmarks.elastic --pods 30",
    "benchmarks.page_latency --limit 500",
    "benchmarks.page_load --interactive 2000 --update 16",
    "benchmarks.viewers --viewers 200 --pods 32 --rate 10 --seconds 60 --limit 500",
    "benchmarks.lists --limit 300",
    "benchmarks.start_up --limit 300 --again-limit 10",
    f"{PEERS} to-target --env CartPole-v1 --peers sb3 sbx --least sb3=4 sbx=2 --seeds 3 --cap 60 --minutes 3 {OUT}",
    f"{PEERS} to-target --env Pendulum-v1 --peers sb3 --least sb3=4 --seeds 2 --cap 90 --minutes 2 {OUT}",
    f"{PEERS} throughput --env CartPole-v1 --peers sb3 envpool --least sb3=10 envpool=3 --seconds 5 {OUT}",
    f"{PEERS} throughput --env HalfCheetah-v5 --peers sb3 envpool --least envpool=1.5 --seconds 5 {OUT}",
    f"{PEERS} side-by-side --env CartPole-v1 --peers --rounds 1 --seconds 5 {OUT}",
    f"{PEERS} updates --env HalfCheetah-v5 --algorithm sac --peers sb3 sbx --least sb3=2.5 sbx=1.2 --seconds 5 {OUT}",
    f"benchmarks.peers table {OUT} --page var/benchmarks/benchmarks.md",
]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure Podracer on this machine.")
    parser.add_argument("--list", action="store_true", help="print the commands and measure nothing")
    if parser.parse_args().list:
        print("\n".join(f"python -m {command}" for command in COMMANDS))
        return 0
    missed = []
    for command in COMMANDS:
        print(f"\n$ python -m {command}", flush=True)
        if subprocess.run([sys.executable, "-m", *command.split()], check=False).returncode:
            missed.append(command)
    print("\nall limits held" if not missed else "\nnot held:\n" + "\n".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
