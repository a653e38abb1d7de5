"""What Podracer has set itself to show, and whether what was measured shows it."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.contests import BODIES, TARGETS
from benchmarks.peers.results import Contest, Summary, find
from benchmarks.peers.words import factor, number

NOT_MEASURED, HOLDS, MISSES, ELSEWHERE = "not measured", "holds", "does not hold", "measured elsewhere"


@dataclass(frozen=True)
class Verdict:
    """what: of which measurement; target: in words; measured: the numbers; verdict: one of the words above."""

    what: str
    target: str
    measured: str
    verdict: str


OTHERS = (
    (
        "Compiled update: warm start in a pod process that has compiled before",
        "≤ 3 s",
        "`python -m benchmarks.compiled_update`",
    ),
    ("Memory of a pod process at rest", "≤ 450 MiB", "`tests/core/test_pod_process.py`"),
)
"""Targets that no command here measures, with what measures them."""


def verdicts(known: Sequence[Contest]) -> list[Verdict]:
    rows = [_to_target(known, env_id, score) for env_id, score in TARGETS.items()]
    rows += [_share(known, env_id, 0.65 if env_id == "HalfCheetah-v5" else 0.8) for env_id in BODIES]
    rows += [
        _speed(known, "throughput", "HalfCheetah-v5", "", {"envpool": 1.5}),
        _speed(known, "throughput", "Ant-v5", "", {"envpool": 1.2}),
        _speed(known, "throughput", "CartPole-v1", "", {"envpool": 3.0, "sb3": 10.0}),
        _speed(known, "updates", "HalfCheetah-v5", "sac", {"sb3": 2.5, "sbx": 1.2}),
        _speed(known, "updates", "HalfCheetah-v5", "td3", {"sb3": 2.5, "sbx": 1.2}),
    ]
    rows += [_return(known, env_id, algorithm) for env_id in BODIES for algorithm in ("ppo", "sac")]
    rows.append(_pair(known, "CartPole-v1", 1.8))
    return rows + [Verdict(what, target, where, ELSEWHERE) for what, target, where in OTHERS]


def _to_target(known: Sequence[Contest], env_id: str, score: float) -> Verdict:
    what = f"{env_id} to {score:g}: wall clock, 5 seeds, none failing"
    target = "≥ 4 x faster than Stable-Baselines3, ≥ 2 x faster than the fastest peer"
    contest = find(known, "to-target", env_id)
    ratio = contest.ratio("sb3") if contest else None
    if contest and contest.ours.runs >= 5 and contest.ours.reached < contest.ours.runs:
        return Verdict(what, target, f"{contest.ours.reached} of {contest.ours.runs} seeds", MISSES)
    if contest is None or ratio is None or contest.ours.median is None:
        return Verdict(what, target, "", NOT_MEASURED)
    ratios = sorted((found, summary.at_least) for summary, found in contest.peers if found is not None)
    ours, fastest, in_vain = contest.ours, ratios[0], contest.at_least("sb3")
    measured = (
        f"{number(ours.median)} s, {ours.reached} of {ours.runs} seeds; {factor(ratio, in_vain)} Stable-Baselines3, "
        f"{factor(*fastest)} the fastest of {len(ratios)} peers"
    )
    if ours.runs < 5:
        return Verdict(what, target, measured, NOT_MEASURED)
    short = [open_ended for found, open_ended, least in ((ratio, in_vain, 4), (*fastest, 2)) if found < least]
    if ours.reached == ours.runs and short and all(short):  # the peer was stopped before that could be said
        return Verdict(what, target, measured, NOT_MEASURED)
    return Verdict(what, target, measured, HOLDS if ours.reached == ours.runs and not short else MISSES)


def _share(known: Sequence[Contest], env_id: str, least: float) -> Verdict:
    what, target = f"{env_id}: PPO training over bare stepping, 2 epochs", f"≥ {least:.0%}"
    share = _median_share(known, "stepping", env_id)
    if share is None:
        return Verdict(what, target, "", NOT_MEASURED)
    return Verdict(what, target, f"{share:.0%}", HOLDS if share >= least else MISSES)


def _pair(known: Sequence[Contest], env_id: str, least: float) -> Verdict:
    what, target = f"{env_id}: two pods side by side on two cores", f"≥ {least:g} x one"
    share = _median_share(known, "side-by-side", env_id)
    if share is None:
        return Verdict(what, target, "", NOT_MEASURED)
    return Verdict(what, target, f"{share:.2f} x", HOLDS if share >= least else MISSES)


def _median_share(known: Sequence[Contest], measurement: str, env_id: str) -> float | None:
    contest = find(known, measurement, env_id)
    shares = [run["share"] for run in contest.ours.answers] if contest else []
    return statistics.median(shares) if shares else None


def _speed(known: Sequence[Contest], measurement: str, env_id: str, algorithm: str, least: dict[str, float]) -> Verdict:
    names = {"envpool": "the plain EnvPool loop", "sb3": "Stable-Baselines3", "sbx": "SBX"}
    thing = "gradient updates/s at batch 256, two layers of 256" if algorithm else "PPO training env steps/s"
    what = f"{algorithm.upper() or env_id}: {thing}"
    target = ", ".join(f"≥ {value:g} x {names[name]}" for name, value in least.items())
    contest = find(known, measurement, env_id, algorithm)
    found = {name: contest.ratio(name) if contest else None for name in least}
    if all(ratio is None for ratio in found.values()):
        return Verdict(what, target, "", NOT_MEASURED)
    measured = ", ".join(
        f"{factor(ratio)} {names[name]}" if ratio is not None else f"{names[name]} not measured"
        for name, ratio in found.items()
    )
    missed = any(ratio is not None and ratio < least[name] for name, ratio in found.items())
    if not missed and None in found.values():
        return Verdict(what, target, measured, NOT_MEASURED)
    return Verdict(what, target, measured, MISSES if missed else HOLDS)


def _return(known: Sequence[Contest], env_id: str, algorithm: str) -> Verdict:
    """Holds while the seeds do not show it to be worse: its interval's upper end reaches the peer's mean."""
    steps, count = ("1 million", 1_000_000) if algorithm == "ppo" else ("100 thousand", 100_000)
    what = f"{env_id}: {algorithm.upper()}'s return after {steps} env steps, 3 seeds or more"
    target = "no worse than Stable-Baselines3"
    contest = find(known, "return-at-steps", env_id, algorithm)
    peer = next((s for s, _ in contest.peers if s.participant == "sb3"), None) if contest else None
    scores = [_scores(summary, count) if summary else [] for summary in (contest.ours if contest else None, peer)]
    if not all(scores):
        return Verdict(what, target, "", NOT_MEASURED)
    ours, theirs = map(interval, scores)
    measured = f"{_with_interval(ours)}; Stable-Baselines3 {_with_interval(theirs)}"
    enough = min(map(len, scores)) >= 3
    verdict = (HOLDS if ours[2] >= theirs[0] else MISSES) if enough else NOT_MEASURED
    return Verdict(what, target, measured, verdict)


def interval(scores: Sequence[float]) -> tuple[float, float, float]:
    """Mean, and the ends of Student's 95 % interval over the seeds; infinite for a single one."""
    count, mean = len(scores), math.fsum(scores) / len(scores)
    if count < 2:
        return mean, -math.inf, math.inf
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / (count - 1))
    half = _T95[min(count - 1, len(_T95)) - 1] * deviation / math.sqrt(count)
    return mean, mean - half, mean + half


_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t at 97.5 % for 1 to 9 degrees of freedom; beyond them the last, which is a little wide."""


def _scores(summary: Summary, env_steps: int) -> list[float]:
    """Of the runs that trained for so long."""
    answers = [run for run in summary.answers if run["job"]["env_steps"] == env_steps]
    return [float(run["score"]) for run in answers if run["score"] is not None]


def _with_interval(found: tuple[float, float, float]) -> str:
    mean, low, high = found
    return f"{mean:,.0f} ({low:,.0f} to {high:,.0f})" if math.isfinite(low) else f"{mean:,.0f} (one seed)"
