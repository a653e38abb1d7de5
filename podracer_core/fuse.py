"""One training state from several: the weights averaged, and what goes with them merged so that it still fits."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from podracer_core.agents.learner import State, check_fits
from podracer_core.errors import CheckpointError

ADAM_DECAY = 0.999
"""Of adam.Adam's squared gradients, whose bias correction counts steps."""


def fuse(states: Sequence[State]) -> State:
    """The mean of what several agents learned, `learned` of each, on the CPU.

    Weights, target networks and an optimizer's moments are averaged ("model soup", Wortsman et al. 2022, arXiv
    2203.05482). Running statistics are those of all that their owners saw, pooled; their count is the mean of the
    counts, since relatives share most of it. Adam's step count is the one whose bias correction is the mean of
    theirs. Everything else has to be equal.

    Whether averaging makes sense is half decided here: raises CheckpointError, naming what differs, for agents of
    different algorithms or network shapes. That they are of one ancestry is for the caller to know: networks of
    different random beginnings fit each other's shape and not each other's order of units.
    """
    first = states[0]
    for other in states[1:]:
        check_fits(first["algorithm"], first["shape"], other)
    merged: State = _merge("learned", states)
    return merged


def _merge(name: str, values: Sequence[Any]) -> Any:
    # What only some have, such as the scale of rewards, is theirs to hand down.
    values = [value for value in values if value is not None] or [None]
    first = values[0]
    if isinstance(first, dict):
        if any(not isinstance(value, dict) or value.keys() != first.keys() for value in values):
            raise CheckpointError(f"States whose {name!r} have different parts cannot be averaged.")
        if first.keys() == {"count", "mean", "var"}:
            return _merged_statistics(values)
        merged = {key: _merge(key, [value[key] for value in values]) for key in first}
        if "exp_avg_sq" in merged and "num_steps" in first:
            merged["num_steps"] = torch.tensor(_merged_steps([int(value["num_steps"]) for value in values]))
        return merged
    if isinstance(first, Tensor) and first.is_floating_point():
        return _mean(values)
    if isinstance(first, float):
        return math.fsum(values) / len(values)
    return first if name == "num_steps" else _equal(name, values)


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    """In float64, so that the mean of equals is equal to them, bit for bit."""
    total = torch.zeros_like(tensors[0], dtype=torch.float64)
    for tensor in tensors:
        total += tensor
    return (total / len(tensors)).to(tensors[0].dtype)


def _merged_statistics(parts: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Mean and variance of the rows of all (Chan, Golub and LeVeque 1979), each part weighing as it has rows."""
    counts = torch.stack([part["count"] for part in parts])
    if counts.sum() == 0:
        return dict(parts[0])
    weights = (counts / counts.sum()).unsqueeze(1)
    means, variances = (torch.stack([part[name] for part in parts]) for name in ("mean", "var"))
    mean = (weights * means).sum(0)
    var = (weights * (variances + (means - mean).square())).sum(0)
    return {"count": counts.mean(), "mean": mean, "var": var}


def _merged_steps(steps: Sequence[int]) -> int:
    """n for which 1 - ADAM_DECAY^n is the mean of theirs; worked out so that large numbers do not become 1."""
    rate, least = -math.log(ADAM_DECAY), min(steps)
    mean = math.fsum(math.exp(-rate * (count - least)) for count in steps) / len(steps)
    return round(least - math.log(mean) / rate)


def _equal(name: str, values: Sequence[Any]) -> Any:
    first = values[0]
    same = (torch.equal(first, value) if isinstance(first, Tensor) else first == value for value in values)
    if all(same):
        return first
    raise CheckpointError(f"States whose {name!r} differ cannot be averaged.")
