"""When a tournament ends, and how far it has come."""

from dataclasses import replace
from typing import Any

import pytest

from podracer_core.spec import StopSpec
from podracer_core.tournament.stopping import Standing, budget_progress, failure_reason, stop_reason, target_progress

NOTHING = Standing(pods=0, env_steps=0, seconds=0.0, since_best=0, confirmed_score=None)


@pytest.mark.parametrize(
    ("stop", "before", "met", "says"),
    [
        ({"score": 475}, {"confirmed_score": 474.9}, {"confirmed_score": 475.0}, "475"),
        ({"pods": 10}, {"pods": 9}, {"pods": 10}, "10 pods"),
        ({"env_steps": 5000}, {"env_steps": 4999}, {"env_steps": 5001}, "5,000"),
        ({"hours": 0.5}, {"seconds": 1799.0}, {"seconds": 1800.0}, "0.5 hours"),
        ({"patience": 3}, {"since_best": 2}, {"since_best": 3}, "3 pods"),
    ],
)
def test_a_rule_is_met_at_its_bound_and_says_so(
    stop: dict[str, Any], before: dict[str, Any], met: dict[str, Any], says: str
) -> None:
    rules = StopSpec(**stop)
    assert stop_reason(rules, NOTHING) is None
    assert stop_reason(rules, replace(NOTHING, **before)) is None
    assert says in (stop_reason(rules, replace(NOTHING, **met)) or "")


def test_a_budget_of_env_steps_ends_nothing_that_was_promised_a_part_of_it() -> None:
    rules, spent = StopSpec(env_steps=5000), replace(NOTHING, env_steps=5001)
    assert stop_reason(rules, replace(spent, promised=1)) is None
    assert stop_reason(rules, spent) is not None
    assert stop_reason(StopSpec(env_steps=5000, hours=1), replace(spent, promised=1, seconds=3600)) is not None


def test_the_tightest_budget_is_the_progress() -> None:
    rules = StopSpec(pods=10, env_steps=1000)
    assert budget_progress(rules, replace(NOTHING, pods=2, env_steps=700)) == 0.7
    assert budget_progress(rules, replace(NOTHING, pods=99)) == 1.0
    assert budget_progress(StopSpec(score=1), NOTHING) is None


@pytest.mark.parametrize(
    ("target", "history", "share"),
    [
        (400.0, [100.0], 0.25),
        (400.0, [100.0, 500.0], 1.0),
        (-200.0, [-1200.0], 0.0),
        (-200.0, [-1200.0, -700.0], 0.5),
        (100.0, [-100.0, 0.0], 0.5),
        (100.0, [], None),
        (None, [1.0], None),
    ],
)
def test_nearness_to_the_target(target: float | None, history: list[float], share: float | None) -> None:
    assert target_progress(target, history) == share


@pytest.mark.parametrize(
    ("reasons", "says"),
    [
        (["boom at 1"], None),
        ([None, "boom at 1", "boom at 22"], "2 pods in a row failed for the same reason: boom at 22"),
        (["boom", None, "boom"], None),
        (["boom", "bang"], None),
        (["a", "b", "c", "d", "e", "f"], "6 pods in a row failed, the last of them for this reason: f"),
        (["a", None, "b", "c", "d", "e", "f"], None),
        (["a", "b", "c", "d", "e", "e"], "2 pods in a row failed for the same reason: e"),
    ],
)
def test_failures_in_a_row_end_it_sooner_when_they_are_of_one_kind(reasons: list[str | None], says: str | None) -> None:
    assert failure_reason(reasons, 2) == says


def test_a_single_failure_can_end_it() -> None:
    assert failure_reason([None, "boom"], 1) == "One pod failed: boom"
