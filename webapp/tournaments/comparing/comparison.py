"""Tournaments and agents beside each other, as the API and the page of comparisons show them.

A group is a tournament's leaderboard, its champion alone, one agent, or an ensemble of agents. Scores are compared
within an environment.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.tournament import comparison as statistics
from podracer_core.tournament.comparison import Estimate, Sample
from webapp.tournaments.comparing.curves import Axis, mean_curve
from webapp.tournaments.comparing.groups import Group, labels, shown
from webapp.tournaments.comparing.hyperparameter_table import hyperparameter_table
from webapp.tournaments.comparing.spec_table import spec_table_of_groups
from webapp.tournaments.comparing.times import time_to_target
from webapp.tournaments.models import Agent
from webapp.tournaments.selectors import Item


def compare(groups: Sequence[Group], *, axis: Axis = "steps", target: float | None = None) -> Item:
    """Everything about `groups`; `target` instead of each environment's own."""
    environments = list(dict.fromkeys(group.tournament.env_id for group in groups))
    names = labels(groups)
    tournaments = [group for group in groups if group.agent is None]
    return {
        "groups": [shown(group, names[group.key], color) for color, group in enumerate(groups)],
        "environments": [
            _environment(env_id, [group for group in groups if group.tournament.env_id == env_id], axis, target)
            for env_id in environments
        ],
        "differences": {
            "groups": [group.key for group in tournaments],
            "rows": spec_table_of_groups([[one.spec for one in group.tournaments] for group in tournaments]),
        },
        "hyperparameters": _hyperparameters([group for group in groups if group.agent and not _is_ensemble(group)]),
    }


def _hyperparameters(groups: Sequence[Group]) -> Item:
    return {
        "groups": [group.key for group in groups],
        "rows": hyperparameter_table([group.agent for group in groups if group.agent]),
    }


def _environment(env_id: str, groups: list[Group], axis: Axis, target: float | None) -> Item:
    target = _target(groups) if target is None else target
    scored = [group for group in groups if group.returns]
    resamples = statistics.resamples(sum(len(part) for group in scored for part in group.returns))
    samples = {
        group.key: statistics.sample(group.returns, runs=group.runs, resamples=resamples, seed=seed)
        for seed, group in enumerate(scored)
    }
    return {
        "env_id": env_id,
        "groups": [group.key for group in groups],
        "target": target,
        "curves": {
            group.key: mean_curve(group.tournaments, axis, group.agent.pk if group.agent else None) for group in groups
        },
        "times": [time_to_target(group, target) for group in groups if not _is_ensemble(group)],
        "scores": [_score(group, samples[group.key]) for group in scored],
        "profiles": _profiles(samples),
        "improvement": _improvement(samples),
    }


def _is_ensemble(group: Group) -> bool:
    """Which nothing was trained for: it has no time to a target."""
    return group.agent is not None and group.agent.kind == Agent.Kind.ENSEMBLE


def _improvement(samples: dict[str, Sample]) -> list[Item]:
    """Of each against each other; the one way is computed, the other is what is left to 1."""
    found = []
    for first, second in combinations(samples, 2):
        there = statistics.probability_of_improvement(samples[first], samples[second])
        back = Estimate(1 - there.value, 1 - there.high, 1 - there.low)
        found += [{"better": first, "than": second, **_estimate(there)}]
        found += [{"better": second, "than": first, **_estimate(back)}]
    return found


def _target(groups: Iterable[Group]) -> float | None:
    """The highest that any of them aims at, else what counts as solved."""
    aims = [group.tournament.spec["stop"].get("score") for group in groups]
    entry = CATALOGUE.get(next(iter(groups)).tournament.env_id)
    return max((aim for aim in aims if aim is not None), default=entry.solved_score if entry else None)


def _estimate(estimate: Estimate) -> Item:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _score(group: Group, sample: Sample) -> Item:
    values = sample.values
    return {
        "group": group.key,
        **_estimate(statistics.iqm(sample)),
        "mean": float(values.mean()),
        "lowest": float(values[0]),
        "highest": float(values[-1]),
    }


def _profiles(samples: dict[str, Sample]) -> Item:
    if not samples:
        return {"thresholds": [], "groups": {}}
    thresholds = statistics.thresholds(list(samples.values()))
    shares = {key: statistics.profile(sample, thresholds) for key, sample in samples.items()}
    return {
        "thresholds": thresholds.tolist(),
        "groups": {
            key: {"share": share.tolist(), "low": low.tolist(), "high": high.tolist()}
            for key, (share, low, high) in shares.items()
        },
    }
