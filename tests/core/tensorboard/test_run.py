"""A run's event file, read back with protobuf's own decoder."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.tensorboard.run import BATCH, FLOAT32_MAX, Evaluation, Point, Run, event_file, run_name
from tests.event_files import Read, read

RUN = {
    "started_at": 1_800_000_000.5,
    "hyperparameters": {"algorithm": "ppo", "learning_rate": 3e-4, "hidden_sizes": [64, 64], "dueling": True},
    "base_env_steps": 1000,
    "evaluation": None,
    "ended_at": None,
    "failed": False,
}


def written(points: Iterable[Point] = (), **changes: Any) -> Read:
    return read(b"".join(event_file(Run(**{**RUN, **changes}), points)))


def test_the_curve_is_by_env_steps_of_the_whole_line_with_wall_time() -> None:
    found = written([(10, 1.0, 2.5, {"value_loss": 0.25}), (20, 3.0, 3.5, {"value_loss": 0.125, "entropy": 1.5})])
    began = 1_800_000_000.5
    assert found.scalars == {
        "training/episodic_return": [(began + 1, 1010, 2.5), (began + 3, 1020, 3.5)],
        "learner/value_loss": [(began + 1, 1010, 0.25), (began + 3, 1020, 0.125)],
        "learner/entropy": [(began + 3, 1020, 1.5)],
    }


def test_what_is_not_known_or_too_large_is_left_out() -> None:
    points: list[Point] = [(10, 1.0, None, {}), (20, 2.0, math.nan, {"value_loss": None}), (30, 3.0, 1e39, {}),
                           (40, 4.0, None, {"value_loss": -FLOAT32_MAX})]  # fmt: skip
    assert [(tag, [step for _, step, _ in rows]) for tag, rows in written(points).scalars.items()] == [
        ("learner/value_loss", [1040])
    ]


def test_hyperparameters_and_how_it_ended() -> None:
    running, failed = written(), written(ended_at=1_800_000_060.0, failed=True)
    assert running.hparams == {"algorithm": "ppo", "learning_rate": 3e-4, "hidden_sizes": "[64, 64]", "dueling": True}
    assert (running.began, running.status) == (1_800_000_000.5, None)
    assert (failed.status, failed.ended) == (2, 1_800_000_060.0)
    assert written(ended_at=1_800_000_060.0).status == 1


def test_the_score_stands_at_the_step_and_time_of_its_evaluation() -> None:
    found = written(evaluation=Evaluation(1_800_000_050.0, 500, {"score": 12.5, "score_low": None}))
    assert found.scalars == {"evaluation/score": [(1_800_000_050.0, 1500, 12.5)]}


@given(st.lists(st.tuples(st.integers(0, 2**62), st.floats(width=32, allow_nan=False, allow_infinity=False))))
def test_every_point_comes_back(points: list[tuple[int, float]]) -> None:
    found = written([(step, 0.0, value, {}) for step, value in points], base_env_steps=0)
    rows = found.scalars.get("training/episodic_return", [])
    assert [(step, value) for _, step, value in rows] == points


def test_a_long_curve_is_written_in_pieces() -> None:
    pieces = list(event_file(Run(**RUN), ((step, 0.0, 1.0, {}) for step in range(3 * BATCH))))  # type: ignore[arg-type]
    assert max(map(len, pieces)) < len(b"".join(pieces)) / 2
    assert len(read(b"".join(pieces)).scalars["training/episodic_return"]) == 3 * BATCH


@pytest.mark.parametrize(("rank", "size", "name"), [(1, 8, "board/1-k7f2"), (2, 100, "board/002-k7f2")])
def test_runs_of_the_leaderboard_are_listed_in_its_order(rank: int, size: int, name: str) -> None:
    assert run_name("k7f2", rank, size) == name
    assert run_name("k7f2", None, size) == "others/k7f2" > name
