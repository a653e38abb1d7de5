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

    median, low, high: of the measurement's number; infinite where the target was missed, None where nothing came
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


def read(folder: Path) -> list[Results]:
    """Oldest first. A last line that was cut off is left out."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        lines = []
        for text in path.read_text().splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                break
        if lines:
            found.append(Results(path.stem, lines[0], tuple(lines[1:])))
    return found


def contests(files: Sequence[Results]) -> list[Contest]:
    """Every measurement there is, by (measurement, environment, algorithm where it is given)."""
    keys = sorted({_key(run) for file in files for run in file.runs})
    return [contest for key in keys if (contest := _contest(key, files)) is not None]


def find(known: Iterable[Contest], measurement: str, env_id: str, algorithm: str = "") -> Contest | None:
    wanted = (measurement, env_id, algorithm)
    return next((c for c in known if (c.measurement, c.env_id, c.algorithm) == wanted), None)


def summarise_runs(participant: str, runs: Sequence[dict[str, Any]]) -> Summary:
    values, failed, reached = [], None, 0
    for run in runs:
        if "failed" in run:
            failed = str(run["failed"])
            if run["job"]["measurement"] == "to-target":
                values.append(math.inf)
            continue
        reached += bool(run.get("reached_target"))
        values.append(_value(run))
    middle = statistics.median(values) if values else None
    ends = (min(values), max(values)) if values else (None, None)
    return Summary(participant, middle, *ends, len(runs), reached, failed, tuple(runs))


def times_as_good(measurement: str, ours: Summary, peer: Summary) -> float | None:
    """Seconds compare the other way round; returns are not ratios. A peer that never arrives gives infinity."""
    if ours.median is None or peer.median is None or measurement == "return-at-steps":
        return None
    if measurement == "to-target":
        return None if math.isinf(ours.median) else peer.median / ours.median
    return ours.median / peer.median


def _value(run: dict[str, Any]) -> float:
    measurement = run["job"]["measurement"]
    if measurement == "to-target" and not run["reached_target"]:
        return math.inf
    value = run[VALUES[measurement]]
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
