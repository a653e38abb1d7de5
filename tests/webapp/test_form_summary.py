"""A specification in plain words, with numbers worked out by hand."""

from typing import Any

import pytest

from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse
from webapp.tournaments.form.selectors import Pace, Room
from webapp.tournaments.form.spec_difference import differences
from webapp.tournaments.form.spec_difference import told as told_again
from webapp.tournaments.form.summary import Summary, length_of, pods_expected, summarise

PACE = Pace(24, 5_000.0, 5.0)


def spec_of(**fields: Any) -> TournamentSpec:
    return spec_parse({"env_id": "CartPole-v1", "stop": {"pods": 40}, **fields})


def told(*, slots: int = 2, others: int = 0, paces: dict[str, Pace] | None = None, **fields: Any) -> Summary:
    return summarise(spec_of(**fields), {"ppo": PACE} if paces is None else paces, Room(slots, others))


def text(summary: Summary) -> str:
    return " ".join((summary.headline, *summary.facts))


def test_pods_steps_and_time() -> None:
    # 20 one after another on each slot, 100,000 / 5,000 + 5 s each: 500 s
    summary = told()
    assert summary.headline == "About 40 pods of 100,000 steps, ~8 minutes on the 2 slots online."
    assert "4,000,000 env steps in all" in text(summary)
    assert "at the pace of 24 earlier pods here" in text(summary)
    assert [len(lane) for lane in summary.lanes] == [12, 12]


def test_a_round_in_seconds_and_a_small_pool() -> None:
    # One pod at a time, 10 + 5 s each: 600 s
    summary = told(pool={"size": 1}, round={"seconds": 10})
    assert summary.headline == "About 40 pods of 10 s, ~10 minutes on the 2 slots online."


def test_the_last_pods_leave_slots_free() -> None:
    summary = told(stop={"pods": 5}, pool={"size": 3}, slots=3)
    assert [len(lane) for lane in summary.lanes] == [2, 2, 1]
    assert summary.headline == "About 5 pods of 100,000 steps, ~50 seconds on the 3 slots online."


def test_a_pool_beyond_the_slots_is_told() -> None:
    assert "The pool asks for 8 pods at once; 2 can run, the others wait." in text(told(pool={"size": 8}))


def test_nothing_measured_gives_no_estimate_and_says_so() -> None:
    summary = told(algorithms=[{"name": "ppo"}, {"name": "dqn"}])
    assert summary.headline == "About 40 pods of 100,000 steps, on the 2 slots online."
    assert "No estimate of the time yet: no pod of dqn has finished in CartPole-v1 here." in text(summary)


def test_no_slot_is_told() -> None:
    assert "no slot is online to run them" in told(slots=0).headline
    assert "make worker" in text(told(slots=0))


def test_others_share_the_slots() -> None:
    assert "with another tournament that runs now" in text(told(others=1))
    assert "with 3 other tournaments that run now" in text(told(others=3))


def test_hours_bound_the_time() -> None:
    assert "at most 36 seconds" in told(stop={"pods": 40, "hours": 0.01}).headline
    assert "~8 minutes" in told(stop={"pods": 40, "hours": 1}).headline


@pytest.mark.parametrize(
    ("stop", "pods"),
    [
        ({"pods": 40}, 40),
        ({"env_steps": 250_000}, 3),
        ({"env_steps": 250_000, "pods": 2}, 2),
        ({"score": 400}, None),
        ({"patience": 5}, None),
    ],
)
def test_how_many_pods_the_budgets_leave_room_for(stop: dict[str, float], pods: int | None) -> None:
    assert pods_expected(spec_of(stop=stop)) == pods


def test_what_ends_it() -> None:
    stop = {"score": 450, "pods": 40, "hours": 2, "patience": 9, "env_steps": 10**7}
    assert text(told(stop=stop)).endswith(
        "Ends at the first of: a score of 450 that 100 further episodes confirm; 40 pods; 10,000,000 env steps; "
        "2 hours; 9 pods in a row without a new best."
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (89, "89 seconds"),
        (90, "2 minutes"),
        (5399, "90 minutes"),
        (5400, "2 hours"),
        (200_000, "2 days"),
    ],
)
def test_a_length_of_time_is_rounded(seconds: float, words: str) -> None:
    assert length_of(seconds) == words


def test_differences_name_the_field_and_both_values() -> None:
    was = spec_of(name="one", stop={"pods": 40}).model_dump(mode="json")
    now = spec_of(
        name="two",
        pool={"size": 4},
        stop={"score": 450},
        algorithms=[{"name": "ppo", "search_space": {"gamma": {"uniform": [0.9, 0.99]}}}, {"name": "dqn"}],
    ).model_dump(mode="json")
    found = {item.label: (item.was, item.now) for item in differences(was, now)}
    assert found["Pool size"] == ("2", "4")
    assert found["Pods finished"] == ("40", "none")
    assert found["Target score"] == ("none", "450")
    assert found["Algorithms"] == ("ppo", "ppo, dqn")
    assert found["gamma of ppo"] == ("the tuned value", "uniform 0.9 to 0.99")
    assert found["learning_rate of ppo"] == ("loguniform 0.001 to 0.004", "the tuned value")
    assert "Name" not in found
    assert differences(now, now) == []
    assert told_again("one", differences(was, now)).startswith("It runs one again, with Algorithms ppo → ppo, dqn; ")
    assert told_again("one", []) == "It runs one again, unchanged."
