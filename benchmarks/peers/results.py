"""What was measured, read from the files of `measure`, and what it says: pure functions of them."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRAINING = ("to-target", "return-at-steps")

VALUES = {
    "to-target": "seconds",
    "throughput": "env_steps_per_second",
    "side-by-side": "env_steps_per_second",
    "updates": "updates_per_second",
    "stepping": "env_steps_per_second",
    "return-at-steps": "score",
}
"""The number that each measurement is about."""


@dataclass(frozen=True)
class Results:
    """One file. header: see `measure`; runs: {participant, round, job, ...answer}."""

    name: str
    header: dict[str, Any]
    runs: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Summary:
    """One participant's runs of one measurement in one file.

    median, low, high: of the measurement's number, None where nothing came
    at_least: the target was missed so often that the median is only how long was trained in vain
    runs, reached: how many there were, and how many reached the target
    failed: why the others gave no number, or None
    """

    participant: str
    median: float | None
    low: float | None
    high: float | None
    runs: int
    reached: int
    failed: str | None
    at_least: bool
    answers: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Contest:
    """One measurement of one environment: what everyone did in the newest file that has it.

    A peer that was measured earlier keeps its place, compared with Podracer as it was in that earlier file.
    """

    measurement: str
    env_id: str
    algorithm: str
    ours: Summary
    peers: tuple[tuple[Summary, float | None], ...]
    """Each with how many times as fast, or as good, Podracer was in the same file; None where that cannot be said."""

    def ratio(self, name: str) -> float | None:
        return next((ratio for summary, ratio in self.peers if summary.participant == name), None)

    def at_least(self, name: str) -> bool:
        return any(summary.at_least for summary, _ in self.peers if summary.participant == name)


def read(folder: Path) -> list[Results]:
    """Oldest first. A last line that was cut off is left out."""
    found = (read_file(path) for path in sorted(folder.glob("*.jsonl")))
    return [file for file in found if file is not None]


def read_file(path: Path) -> Results | None:
    lines = []
    for text in path.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:
            break
    return Results(path.stem, lines[0], tuple(lines[1:])) if lines else None


def contests(files: Sequence[Results]) -> list[Contest]:
    """Every measurement there is, by (measurement, environment, algorithm where it is given)."""
    measured = (run for file in files for run in file.runs if run["job"]["measurement"] in VALUES)
    keys = sorted(set(map(_key, measured)))
    return [contest for key in keys if (contest := _contest(key, files)) is not None]


def find(known: Iterable[Contest], measurement: str, env_id: str, algorithm: str = "") -> Contest | None:
    wanted = (measurement, env_id, algorithm)
    return next((c for c in known if (c.measurement, c.env_id, c.algorithm) == wanted), None)


def summarise_runs(participant: str, runs: Sequence[dict[str, Any]]) -> Summary:
    """Those that missed the target stand behind all that reached it, with the seconds that they trained."""
    answers = [run for run in runs if "failed" not in run]
    failed = next((str(run["failed"]) for run in reversed(runs) if "failed" in run), None)
    reached = sum(bool(run.get("reached_target")) for run in answers)
    values = sorted((_missed(run), _value(run)) for run in answers)
    middle = values[(len(values) - 1) // 2 : len(values) // 2 + 1]
    median = statistics.fmean(value for _, value in middle) if middle else None
    numbers = [value for _, value in values]
    low, high = (min(numbers), max(numbers)) if numbers else (None, None)
    at_least = any(missed for missed, _ in middle)
    return Summary(participant, median, low, high, len(runs), reached, failed, at_least, tuple(answers))


def times_as_good(measurement: str, ours: Summary, peer: Summary) -> float | None:
    """Seconds compare the other way round; returns are not ratios. Of a peer that is `at_least`, at least so many."""
    if not ours.median or not peer.median or ours.at_least or measurement == "return-at-steps":
        return None
    return peer.median / ours.median if measurement == "to-target" else ours.median / peer.median


def _missed(run: dict[str, Any]) -> bool:
    return run["job"]["measurement"] in ("to-target", "population") and not run["reached_target"]


def _value(run: dict[str, Any]) -> float:
    value = run[VALUES.get(run["job"]["measurement"], "seconds")]
    return math.nan if value is None else float(value)


def _key(run: dict[str, Any]) -> tuple[str, str, str]:
    """Each side may choose its algorithm on the way to a target; elsewhere they are alike."""
    job = run["job"]
    named = job["measurement"] in ("updates", "return-at-steps")
    return job["measurement"], job["env_id"], job["algorithm"] if named else ""


def _contest(key: tuple[str, str, str], files: Sequence[Results]) -> Contest | None:
    newest: Summary | None = None
    peers: dict[str, tuple[Summary, float | None]] = {}
    for file in reversed(files):
        by_name: dict[str, list[dict[str, Any]]] = {}
        for run in file.runs:
            if _key(run) == key:
                by_name.setdefault(run["participant"], []).append(run)
        if "ours" not in by_name:
            continue
        ours = summarise_runs("ours", by_name.pop("ours"))
        newest = newest or ours
        for name, runs in by_name.items():
            summary = summarise_runs(name, runs)
            peers.setdefault(name, (summary, times_as_good(key[0], ours, summary)))
    return Contest(*key, newest, tuple(peers.values())) if newest else None
