"""What was measured, in words, and what of it does not hold."""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.viewers.machine import Memory

GROWTH = 0.05
"""Of memory in the measured time, that still counts as none."""


def delays(options: argparse.Namespace, heard: dict[str, Any], readers: int, seconds: float) -> list[str]:
    counts = heard["delays"]
    count = sum(counts)
    per_second = count / readers / seconds
    expected = options.pods * options.rate
    p95 = _quantile(counts, 0.95)
    print(
        f"{readers} viewers, {per_second:.0f} points/s each of {expected:.0f} that the pods mean to say; "
        f"from pod to store, every point: median {_quantile(counts, 0.5)} ms, 95th percentile {p95} ms, "
        f"99th {_quantile(counts, 0.99)} ms, most {_quantile(counts, 1)} ms\n"
        f"a viewer's second: {heard['frames'] / readers / seconds:.1f} frames, "
        f"{heard['messages'] / readers / seconds:.0f} messages, {heard['letters'] / readers / seconds / 1000:.1f} kB "
        f"of JSON, {heard['wire'] / readers / seconds / 1000:.1f} kB on the wire; "
        f"{heard['snapshots']} snapshots in all"
    )
    faults = []
    if p95 > options.limit:
        faults.append(f"the 95th percentile is {p95} ms, the limit {options.limit:.0f} ms")
    # Pods pause for a moment between two rounds.
    if per_second < options.least * expected:
        faults.append(f"a viewer heard {per_second:.0f} points/s")
    return faults


def _quantile(counts: list[int], share: float) -> int:
    """Of a count by millisecond."""
    left = share * sum(counts)
    for milliseconds, count in enumerate(counts):
        left -= count
        if left <= 0 and count:
            return milliseconds
    return len(counts)


def drawn(options: argparse.Namespace, late: list[float]) -> list[str]:
    if not late:
        return ["Chromium drew nothing"] if options.page else []
    p95 = late[int(0.95 * (len(late) - 1))]
    print(
        f"from pod to drawn in Chromium, the newest point of each of {len(late)} messages: "
        f"median {late[len(late) // 2]:.0f} ms, "
        f"95th percentile {p95:.0f} ms, most {late[-1]:.0f} ms"
    )
    return [f"Chromium's 95th percentile is {p95:.0f} ms"] if p95 > options.limit else []


def memory(seen: Memory, seconds: float) -> list[str]:
    faults = []
    for name in ("web", "valkey"):
        start, middle, end = seen.course(name)
        slope = seen.slope(name)
        print(f"memory of {name}: {start:.1f}, {middle:.1f}, {end:.1f} MB; {slope:+.2f} MB a minute")
        if slope * seconds / 60 > GROWTH * start:
            faults.append(f"the memory of {name} grows by {slope:.2f} MB a minute")
    return faults


def load(seconds: float, spent: Mapping[str, float]) -> None:
    shares = ", ".join(f"{name} {share / seconds:.2f}" for name, share in spent.items())
    used = sum(spent.values()) / seconds
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; cores used: {used:.2f} ({shares})")


def joined(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What several crowds answer, as one: numbers and lists are added up, those who differ or came again are named."""
    whole: dict[str, Any] = {}
    for number, answer in enumerate(answers):
        for name, value in answer.items():
            if isinstance(value, dict):
                named = {f"{number}/{key}": one for key, one in value.items()}
                whole[name] = whole.get(name, {}) | named
            elif isinstance(value, list):
                whole[name] = [sum(pair) for pair in zip(whole.get(name, [0] * len(value)), value, strict=True)]
            else:
                whole[name] = min(whole.get(name, value), value) if name == "began" else whole.get(name, 0) + value
    return whole
