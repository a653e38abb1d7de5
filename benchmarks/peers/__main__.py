"""Podracer measured against other libraries on this machine.

    python -m benchmarks.peers install sb3 sbx
    python -m benchmarks.peers run to-target --env CartPole-v1 --peers sb3 sbx rllib --seeds 5 --cap 120
    python -m benchmarks.peers run throughput --env HalfCheetah-v5 --peers sb3 envpool
    python -m benchmarks.peers run updates --env HalfCheetah-v5 --algorithm sac --peers sb3 sbx
    python -m benchmarks.peers run stepping --env Ant-v5 --peers envpool
    python -m benchmarks.peers run side-by-side --env CartPole-v1 --peers
    python -m benchmarks.peers run return-at-steps --env HalfCheetah-v5 --env-steps 1000000 --seeds 3
    python -m benchmarks.peers population --environments CartPole-v1 Pendulum-v1 --contests asynchronous tune --seeds 5
    python -m benchmarks.peers table

Podracer always takes part. The participants take turns; each run is a process of its own, and what it answers is kept
under benchmarks/results/ at once. `population` compares Podracer's tournament with other searches over
hyperparameters; called again, it goes on where it was. `table` writes docs/benchmarks.md and its pictures from what is
kept there.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.peers.contests import SEARCHES, SHAPES, TARGETS, algorithm_of, num_envs_of
from benchmarks.peers.job import Job
from benchmarks.peers.measure import Make, measure
from benchmarks.peers.page import write_page
from benchmarks.peers.populations import Asked, measure_populations
from benchmarks.peers.results import VALUES, contests, read_file
from benchmarks.peers.venvs import PARTICIPANTS, REPOSITORY, SEARCHERS, NotInstalledError, Participant, python_of
from benchmarks.peers.words import factor

PEERS = [name for name in PARTICIPANTS if name != "ours"]
INSTALLED = [*PEERS, *(name for name, participant in SEARCHERS.items() if participant.requirements)]


def main() -> int:
    options = _parse()
    if options.command == "install":
        return _install(options.peers or INSTALLED, options.venvs)
    if options.command == "table":
        write_page(options.results, options.page)
        print(options.page)
        return 0
    if options.command == "population":
        print(*_populations(options), sep="\n")
        return 0
    path = _measure(options)
    print(path)
    return _too_slow(path, dict(options.least))


def _measure(options: argparse.Namespace) -> Path:
    return measure(
        ["ours", *options.peers],
        options.seeds if options.measurement in ("to-target", "return-at-steps") else options.rounds,
        _make(options),
        home=options.venvs,
        out=options.results,
        minutes=options.minutes,
    )


def _populations(options: argparse.Namespace) -> list[Path]:
    asked = Asked(options.environments, options.contests, options.seeds, options.cap, options.slots, options.target)
    return measure_populations(
        asked, home=options.venvs, out=options.results, minutes=options.minutes, fresh=options.fresh
    )


def _too_slow(path: Path, least: dict[str, float]) -> int:
    """1 when Podracer was not so many times as fast as each of `least`."""
    file = read_file(path)
    assert file is not None
    (contest,) = contests([file])
    missed = False
    for name, wanted in least.items():
        ratio = contest.ratio(name)
        print(
            f"Podracer against {PARTICIPANTS[name].title}: {factor(ratio, contest.at_least(name))}, limit {wanted:g} x"
        )
        missed |= ratio is None or ratio < wanted
    return int(missed)


def _install(names: list[str], home: Path) -> int:
    """Exits 1 when one does not install."""
    failed = 0
    for name in names:
        try:
            print(f"{name}: {python_of((PARTICIPANTS | SEARCHERS)[name], home, retry=True)}", flush=True)
        except NotInstalledError as error:
            print(f"{name} does not install: {error}", flush=True)
            failed = 1
    return failed


def _make(options: argparse.Namespace) -> Make:
    """Rounds are seeds."""
    env_id, measurement = options.env, options.measurement

    def training(participant: Participant, round_: int) -> Job:
        algorithm = options.algorithm or algorithm_of(participant.name, env_id)
        rest = {"seed": round_, "threads": options.threads}
        if measurement == "to-target":
            target = TARGETS[env_id] if options.target is None else options.target
            return Job(measurement, env_id, algorithm, target=target, cap=options.cap, **rest)
        return Job(measurement, env_id, options.algorithm or "ppo", env_steps=options.env_steps, **rest)

    def speed(participant: Participant, round_: int) -> Job:
        shape = SHAPES.get(env_id, SHAPES["HalfCheetah-v5"])
        return Job(
            measurement,
            env_id,
            options.algorithm or "ppo",
            seed=round_,
            threads=options.threads,
            seconds=options.seconds,
            num_envs=options.num_envs.get(participant.name) or num_envs_of(participant.name, env_id),
            batch_rows=options.batch_rows or shape.batch_rows,
            minibatch_rows=options.minibatch_rows or shape.minibatch_rows,
            num_epochs=options.epochs or shape.num_epochs,
        )

    return training if measurement in ("to-target", "return-at-steps") else speed


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    install = commands.add_parser("install", help="make virtual environments; of every peer when none is named")
    install.add_argument("peers", nargs="*", choices=[*INSTALLED, []], metavar="PEER")
    run = commands.add_parser("run", help="measure")
    run.add_argument("measurement", choices=list(VALUES))
    run.add_argument("--env", required=True)
    run.add_argument("--peers", nargs="*", default=["sb3"], choices=PEERS)
    run.add_argument("--algorithm", help="for everyone; otherwise each side's own choice")
    run.add_argument("--threads", type=int, default=1)
    run.add_argument("--minutes", type=float, default=600.0, help="no further round begins after so many")
    run.add_argument("--seeds", type=int, default=5, help="of to-target and return-at-steps: how many")
    run.add_argument("--target", type=float, help="of to-target")
    run.add_argument("--cap", type=float, default=120.0, help="of to-target: seconds of training at most")
    run.add_argument("--env-steps", type=int, default=1_000_000, help="of return-at-steps")
    run.add_argument("--rounds", type=int, default=3, help="of the others")
    run.add_argument("--seconds", type=float, default=8.0, help="of each measurement of the others")
    run.add_argument(
        "--least", type=_ratio, nargs="*", default=[], metavar="NAME=X", help="exit 1 unless X times as fast as NAME"
    )
    run.add_argument("--num-envs", type=_share, nargs="*", default=[], metavar="NAME=N", help="of throughput")
    run.add_argument("--batch-rows", type=int, help="of throughput: env steps an iteration")
    run.add_argument("--minibatch-rows", type=int, help="of throughput")
    run.add_argument("--epochs", type=int, help="of throughput")
    population = commands.add_parser("population", help="compare searches over hyperparameters")
    population.add_argument("--environments", nargs="+", default=list(SEARCHES), choices=SEARCHES)
    population.add_argument("--contests", nargs="+", default=list(SEARCHERS), choices=SEARCHERS)
    population.add_argument("--seeds", type=int, default=5)
    population.add_argument("--target", type=float, help="mean return to reach, in place of each environment's own")
    population.add_argument("--cap", type=float, default=300.0, help="seconds of training at most")
    population.add_argument("--slots", type=int, default=2, help="agents trained at once, each on one thread")
    population.add_argument("--minutes", type=float, default=600.0, help="no further seed begins after so many")
    population.add_argument("--fresh", action="store_true", help="begin new files in place of going on with old ones")
    table = commands.add_parser("table", help="write docs/benchmarks.md from what was measured")
    table.add_argument("--page", type=Path, default=REPOSITORY / "docs" / "benchmarks.md")
    for command in (install, run, population):
        command.add_argument("--venvs", type=Path, default=REPOSITORY / "var" / "benchmarks" / "venvs")
    for command in (run, population, table):
        command.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results")
    options = parser.parse_args()
    if options.command == "run":
        options.num_envs = dict(options.num_envs)
        if options.measurement == "to-target" and options.target is None and options.env not in TARGETS:
            parser.error(f"--target is needed for {options.env}; known: {', '.join(TARGETS)}")
    return options


def _share(text: str) -> tuple[str, int]:
    name, value = _ratio(text)
    if value < 1 or value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N with a whole number")
    return name, int(value)


def _ratio(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if name not in PARTICIPANTS or not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER with a name of {', '.join(PARTICIPANTS)}")
    return name, number


if __name__ == "__main__":
    sys.exit(main())
