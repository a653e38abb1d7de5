"""python -m podracer_core.tournament.simulate: the real decisions against synthetic learners, each mode in turn.

Prints how busy the slots were, when the target was reached, and what a decision cost. What learners and workers are
like is written in `synthetic`.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from podracer_core.errors import SpecError
from podracer_core.spec import MODES, TournamentSpec
from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.simulation import Outcome, Simulation
from podracer_core.tournament.synthetic import Workers

LATEST = 1000
"""Decisions at the beginning and at the end that are compared, to see whether they take longer as history grows."""


def simulated_spec(mode: str, options: argparse.Namespace, seed: int) -> TournamentSpec:
    """A tournament that searches the learning rate over three orders of magnitude."""
    return spec_parse(
        {
            "env_id": "CartPole-v1",
            "seed": seed,
            "algorithms": [{"name": "ppo", "search_space": {"learning_rate": {"loguniform": [1e-5, 3e-2]}}}],
            "pool": {"size": min(options.slots, 1024)},
            "round": {"env_steps": 1},
            "leaderboard": {"size": options.leaderboard, "max_per_ancestor": options.max_per_ancestor},
            "generator": {
                "mode": mode,
                "strategies": options.strategies,
                "parent_selection": options.parent_selection,
                "pods_per_agent": options.pods_per_agent if mode == "generational" else 1,
            },
            "stop": {"pods": options.pods, "score": options.target},
        }
    )


def simulate(mode: str, options: argparse.Namespace, seed: int) -> Outcome:
    """One tournament of one mode. The same arguments give the same outcome, but for the decisions' CPU time."""
    rng = np.random.default_rng(seed)
    workers = Workers.drawn(options.slots, options.tail, options.loss, rng)
    return Simulation(
        simulated_spec(mode, options, seed),
        workers,
        seed,
        stop_at_target=not options.to_the_end,
        decision_seconds=options.decision_ms / 1000,
        stuck=options.stuck,
    ).run()


def summary(mode: str, outcomes: list[Outcome]) -> dict[str, Any]:
    """One line of the report. Times are medians over the seeds, infinite where the target was missed."""
    decisions = [decision for outcome in outcomes for decision in outcome.decisions]
    times = [math.inf if one.time_to_target is None else one.time_to_target for one in outcomes]
    return {
        "mode": mode,
        "pods": sum(outcome.pods for outcome in outcomes),
        "utilisation": statistics.fmean(one.utilisation for one in outcomes),
        "reached": sum(math.isfinite(moment) for moment in times),
        "seconds_to_target": statistics.median(times),
        "best_skill": statistics.median(one.best_skill for one in outcomes),
        "reevaluated": sum(one.reevaluated for one in outcomes),
        "changed": sum(one.changed for one in outcomes),
        "decision_ms": 1000 * statistics.fmean(decisions),
        "decision_ms_p99": 1000 * float(np.quantile(decisions, 0.99)),
        "decision_ms_first": 1000 * statistics.fmean(one for out in outcomes for one in out.decisions[:LATEST]),
        "decision_ms_last": 1000 * statistics.fmean(one for out in outcomes for one in out.decisions[-LATEST:]),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    for mode in options.modes:
        try:
            outcomes = [simulate(mode, options, options.seed + number) for number in range(options.seeds)]
        except SpecError as error:
            parser.error(str(error))
        line = summary(mode, outcomes)
        if options.json:
            print(json.dumps({name: None if value == math.inf else value for name, value in line.items()}))
        else:
            print(_text(line, options.seeds), flush=True)
    return 0


def _text(line: dict[str, Any], seeds: int) -> str:
    reached = f"target after {line['seconds_to_target']:,.0f} s" if line["reached"] * 2 > seeds else "target missed"
    return (
        f"{line['mode']:18}  {line['pods']:>8,} pods  {100 * line['utilisation']:5.1f} % busy  "
        f"{reached:>24} ({line['reached']} of {seeds})  best skill {line['best_skill']:5.1f}  "
        f"{line['changed']:,} of {line['reevaluated']:,} second evaluations changed a rank\n"
        f"{'':18}  a decision {line['decision_ms']:.2f} ms, 99 % within {line['decision_ms_p99']:.2f}; "
        f"the first {LATEST:,} {line['decision_ms_first']:.2f}, the last {line['decision_ms_last']:.2f}"
    )


def _number(least: float, most: float, kind: type = int) -> Callable[[str], Any]:
    """Reads a number from `least` to `most`."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least:,g} to {most:,g}")
        return value

    return read


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m podracer_core.tournament.simulate", description=(__doc__ or "").partition(":")[2]
    )
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--slots", type=_number(2, 10_000), default=1000, help="pods at once, up to 10,000")
    parser.add_argument("--pods", type=_number(10, 100_000), default=20_000, help="that end at most, up to 100,000")
    parser.add_argument("--target", type=float, default=475.0, help="score, confirmed by 100 further episodes")
    parser.add_argument("--to-the-end", action="store_true", help="go on after the target, until the last pod")
    parser.add_argument("--json", action="store_true", help="a JSON line for each mode")
    parser.add_argument("--seed", type=_number(0, 2**31), default=1)
    parser.add_argument("--seeds", type=_number(1, 1000), default=1, help="tournaments of each mode")
    parser.add_argument(
        "--tail", type=_number(1.01, 100, float), default=2.0, help="exponent of the round lengths' Pareto distribution"
    )
    parser.add_argument("--loss", type=_number(0, 0.9, float), default=0.01, help="probability that a pod is lost")
    parser.add_argument(
        "--stuck", type=_number(0, 1, float), default=0.5, help="share of founders that are in a local optimum"
    )
    parser.add_argument(
        "--decision-ms", type=_number(0, 1000, float), default=5.0, help="of simulated time that one decision takes"
    )
    parser.add_argument("--leaderboard", type=int, default=8, help="its size")
    parser.add_argument("--max-per-ancestor", type=float, default=0.5)
    parser.add_argument("--parent-selection", default="rank")
    parser.add_argument("--pods-per-agent", type=int, default=1)
    parser.add_argument(
        "--strategies", type=json.loads, default={"fresh": 0.2, "exploit": 0.8}, help='as JSON: {"fresh": 0.2, ...}'
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
