"""The pure parts of benchmarks.peers: who runs when, what the results say, the page. No peer is installed or run."""

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.peers.charts import band_of, learning_curves, spread
from benchmarks.peers.job import Job
from benchmarks.peers.measure import turns
from benchmarks.peers.page import page_text, write_page
from benchmarks.peers.results import Results, contests, find, read
from benchmarks.peers.targets import ELSEWHERE, HOLDS, MISSES, NOT_MEASURED, interval, verdicts
from benchmarks.peers.training import Evaluator, Training
from benchmarks.peers.venvs import PARTICIPANTS, shortened

HEADER = {
    "command": "python -m benchmarks.peers run to-target --env CartPole-v1",
    "date": "2026-01-02T03:04:05+00:00",
    "commit": "abc1234",
    "machine": {
        "cores": 2,
        "processor": "a processor",
        "memory_gib": 8.0,
        "system": "a system",
        "load_average": 0.1,
    },
    "versions": {"ours": {"python": "3.11.7"}, "sb3": {"stable-baselines3": "2.9.2"}},
    "not_installed": {"elegantrl": "IndexError: list index out of range"},
}


def trained(participant: str, seed: int, seconds: float, *, reached: bool = True, **job: Any) -> dict[str, Any]:
    asked = Job("to-target", "CartPole-v1", target=475.0, cap=120.0, seed=seed)
    curve = [(0.1, 1000, 20.0), (seconds, 20_000, 480.0)]
    return {
        "participant": participant,
        "round": seed,
        "job": json.loads(asked.dump()) | job,
        "seconds": seconds,
        "env_steps": 20_000,
        "score": 490.0,
        "reached_target": reached,
        "curve": curve,
    }


def measured(participant: str, value: float, measurement: str, env_id: str, algorithm: str = "ppo") -> dict[str, Any]:
    unit = "updates_per_second" if measurement == "updates" else "env_steps_per_second"
    return {"participant": participant, "round": 1, "job": json.loads(Job(measurement, env_id, algorithm).dump())} | {
        unit: value
    }


def results(*runs: dict[str, Any], name: str = "one") -> Results:
    return Results(name, HEADER, runs)


def five_seeds(participant: str, *seconds: float) -> list[dict[str, Any]]:
    return [trained(participant, seed, value) for seed, value in enumerate(seconds, start=1)]


# Turns


def test_everyone_runs_once_a_round_and_nobody_always_follows_the_same_one() -> None:
    order = turns(["ours", "sb3", "sbx"], 3)
    assert [name for _, name in order] == ["ours", "sb3", "sbx", "sb3", "sbx", "ours", "sbx", "ours", "sb3"]
    assert [round_ for round_, _ in order] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


# What the results say


def test_a_ratio_of_medians_says_how_many_times_as_fast_podracer_was() -> None:
    file = results(*five_seeds("ours", 1.0, 2.0, 9.0), *five_seeds("sb3", 10.0, 20.0, 12.0))
    contest = find(contests([file]), "to-target", "CartPole-v1")
    assert contest is not None
    assert (contest.ours.median, contest.ours.low, contest.ours.high) == (2.0, 1.0, 9.0)
    assert contest.ratio("sb3") == 6.0


def test_more_steps_a_second_count_as_faster() -> None:
    runs = [measured("ours", 300.0, "throughput", "Ant-v5"), measured("envpool", 100.0, "throughput", "Ant-v5")]
    contest = find(contests([results(*runs)]), "throughput", "Ant-v5")
    assert contest is not None
    assert contest.ratio("envpool") == 3.0


def test_a_missed_target_counts_as_at_least_its_seconds_and_a_failed_run_says_why() -> None:
    failed = {"participant": "sb3", "round": 2, "job": trained("sb3", 2, 1.0)["job"], "failed": "ImportError: no"}
    missed = [trained("sb3", seed, seconds, reached=False) for seed, seconds in ((1, 120.0), (3, 5.0))]
    file = results(*five_seeds("ours", 1.0), *missed, *five_seeds("sb3", 30.0), failed)
    contest = find(contests([file]), "to-target", "CartPole-v1")
    assert contest is not None
    assert contest.ratio("sb3") == 5.0
    assert contest.at_least("sb3")
    ((summary, _),) = contest.peers
    assert (summary.reached, summary.runs, summary.failed) == (1, 4, "ImportError: no")


def test_a_peer_measured_earlier_is_compared_with_podracer_of_that_time() -> None:
    old = results(*five_seeds("ours", 4.0), *five_seeds("rllib", 40.0), *five_seeds("sb3", 8.0), name="1")
    new = results(*five_seeds("ours", 1.0), *five_seeds("sb3", 8.0), name="2")
    contest = find(contests([old, new]), "to-target", "CartPole-v1")
    assert contest is not None
    assert contest.ours.median == 1.0
    assert contest.ratio("sb3") == 8.0
    assert contest.ratio("rllib") == 10.0


def test_a_file_that_was_cut_off_keeps_its_whole_lines(tmp_path: Path) -> None:
    lines = [json.dumps(HEADER), *(json.dumps(run) for run in five_seeds("ours", 1.0, 2.0))]
    (tmp_path / "2026-one.jsonl").write_text("\n".join(lines) + '\n{"participant": "sb3", "rou')
    (file,) = read(tmp_path)
    assert [run["seconds"] for run in file.runs] == [1.0, 2.0]


# Verdicts


def verdict_of(what: str, *files: Results) -> str:
    (row,) = [row for row in verdicts(contests(files)) if row.what.startswith(what)]
    return row.verdict


@pytest.mark.parametrize(
    ("sb3", "sbx", "verdict"),
    [(8.0, 4.0, HOLDS), (7.9, 4.0, MISSES), (8.0, 3.9, MISSES), (-9.0, 4.0, HOLDS), (-7.0, 4.0, NOT_MEASURED)],
)
def test_a_target_score_holds_when_podracer_beats_each_peer_by_enough(sb3: float, sbx: float, verdict: str) -> None:
    """Negative: so long in vain."""
    peers = [trained("sb3", 1, abs(sb3), reached=sb3 > 0), *five_seeds("sbx", sbx)]
    file = results(*five_seeds("ours", 2.0, 2.0, 2.0, 2.0, 2.0), *peers)
    assert verdict_of("CartPole-v1 to 475", file) == verdict


def test_a_seed_that_fails_fails_the_target() -> None:
    ours = [*five_seeds("ours", 1.0, 1.0, 1.0, 1.0), trained("ours", 5, 120.0, reached=False)]
    assert verdict_of("CartPole-v1 to 475", results(*ours, *five_seeds("sb3", 90.0))) == MISSES


def test_what_nobody_measured_is_said_to_be_unmeasured() -> None:
    rows = verdicts([])
    assert len(rows) > 15
    assert {row.verdict for row in rows} == {NOT_MEASURED, ELSEWHERE}
    assert [row.measured != "" for row in rows] == [row.verdict == ELSEWHERE for row in rows]


def test_a_target_with_two_peers_needs_both_measured() -> None:
    runs = [measured(name, value, "updates", "HalfCheetah-v5", "sac") for name, value in (("ours", 300), ("sb3", 100))]
    assert verdict_of("SAC", results(*runs)) == NOT_MEASURED
    assert verdict_of("SAC", results(*runs, measured("sbx", 100, "updates", "HalfCheetah-v5", "sac"))) == HOLDS
    assert verdict_of("SAC", results(*runs, measured("sbx", 280, "updates", "HalfCheetah-v5", "sac"))) == MISSES


def test_training_over_stepping_is_the_median_share() -> None:
    runs = [measured("ours", 1.0, "stepping", "Ant-v5") | {"share": share} for share in (0.9, 0.5, 0.81)]
    assert verdict_of("Ant-v5: PPO training over", results(*runs)) == HOLDS


def test_two_pods_side_by_side_are_compared_with_one() -> None:
    runs = [measured("ours", 1.0, "side-by-side", "CartPole-v1") | {"share": share} for share in (2.0, 1.7)]
    assert verdict_of("CartPole-v1: two pods", results(*runs)) == HOLDS
    assert verdict_of("CartPole-v1: two pods", results(runs[1])) == MISSES


def returned(participant: str, score: float, env_steps: int) -> dict[str, Any]:
    job = Job("return-at-steps", "Ant-v5", "sac", env_steps=env_steps)
    return trained(participant, 1, 9.0) | {"job": json.loads(job.dump()), "score": score}


def test_returns_are_no_worse_while_the_interval_reaches_the_peers_mean_at_the_steps_that_were_set() -> None:
    peer = [returned("sb3", 100.0, 100_000)] * 3
    close, far = ([returned("ours", score, 100_000) for score in (base, base + 5, base + 10)] for base in (85, 70))
    assert verdict_of("Ant-v5: SAC's", results(*close, *peer)) == HOLDS
    assert verdict_of("Ant-v5: SAC's", results(*far, *peer)) == MISSES
    assert verdict_of("Ant-v5: SAC's", results(*[returned("ours", 500.0, 2_000)] * 3, *peer)) == NOT_MEASURED


def test_an_interval_over_seeds_is_students() -> None:
    mean, low, high = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert high - mean == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert mean - low == pytest.approx(high - mean)


# The page


def test_the_page_is_the_same_for_the_same_results_and_names_what_does_not_install(tmp_path: Path) -> None:
    lines = [HEADER, *five_seeds("ours", 1.0, 2.0), *five_seeds("sb3", 10.0, 20.0)]
    (tmp_path / "2026-one.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    page = tmp_path / "benchmarks.md"
    write_page(tmp_path, page)
    first = page.read_text()
    write_page(tmp_path, page)
    assert page.read_text() == first
    assert "| Stable-Baselines3 | PPO | 2 of 2 | 15.0 | 10.0 … 20.0 | 20,000 | 10.0 x |" in first
    assert "does not install: `IndexError: list index out of range`" in first
    assert (tmp_path / re.findall(r"\((benchmarks/.*?\.svg)\)", first)[0]).is_file()


def test_a_page_of_nothing_says_so() -> None:
    text = page_text([], "benchmarks")
    assert text.count("Not measured yet.") == 7
    assert all(participant.title in text for participant in PARTICIPANTS.values())


def test_every_table_row_has_as_many_cells_as_its_head() -> None:
    text = page_text([results(*five_seeds("ours", 1.0), *five_seeds("sb3", 2.0))], "benchmarks")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_learning_curves_are_well_formed_and_name_everyone() -> None:
    contest = find(
        contests([results(*five_seeds("ours", 1.0, 2.0), *five_seeds("sb3", 9.0))]), "to-target", "CartPole-v1"
    )
    assert contest is not None
    picture = ElementTree.fromstring(learning_curves(contest, 475.0))
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Podracer", "Stable-Baselines3", "475"} <= set(texts)
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}polyline"))) == 2


def test_a_band_spans_the_seeds_that_have_begun_and_holds_their_last_return() -> None:
    band = band_of([[(1.0, 10, 5.0), (2.0, 20, 7.0)], [(3.0, 10, 1.0)]], [0.5, 1.5, 2.5])
    assert band == [(1.5, 5.0, 5.0, 5.0), (2.5, 7.0, 7.0, 7.0), (3.0, 1.0, 4.0, 7.0)]


def test_labels_keep_apart_and_within_the_frame() -> None:
    assert spread([10, 12, 100], 16, 300) == [10, 26, 100]
    assert spread([290, 295, 299], 16, 300) == [268, 284, 300]


# What peers run under


def test_an_error_is_told_by_its_innermost_line() -> None:
    text = "Traceback\n  File x\nValueError: outer\n  │ IndexError: list index out of range\n[end of output]\nnote: a"
    assert shortened(text) == "IndexError: list index out of range"
    assert len(shortened("OSError: " + "x" * 500)) == 160


def test_a_peer_ends_once_its_target_is_confirmed_and_its_clock_stands_still_meanwhile() -> None:
    training = Training(Job("to-target", "CartPole-v1", target=10.0, cap=60.0), num_envs=1)
    asked: list[int] = []

    def evaluate(episodes: int, seed: int) -> list[float]:
        asked.append(episodes)
        began = training.seconds
        while training.seconds == began and len(asked) < 3:  # nothing moves but for the clock, which must not matter
            asked.append(0)
        return [11.0] * episodes

    for _ in range(10):
        training.episode(0.0)
    assert not training.look(100, evaluate)
    for _ in range(10):
        training.episode(12.0)
    assert training.look(200, evaluate)
    found = training.result(evaluate)
    assert found["reached_target"]
    assert found["env_steps"] == 200
    assert found["episodes"] == 100
    assert [episodes for episodes in asked if episodes] == [32, 100]


def test_a_peer_that_is_out_of_env_steps_is_evaluated_all_the_same() -> None:
    training = Training(Job("return-at-steps", "CartPole-v1", env_steps=50), num_envs=1)
    assert training.look(50, lambda episodes, seed: [])
    found = training.result(lambda episodes, seed: [3.0] * episodes)
    assert (found["score"], found["episodes"], found["reached_target"]) == (3.0, 100, False)


def test_an_evaluation_plays_as_many_whole_episodes_as_asked_in_every_environment() -> None:
    made: list[Any] = []

    class Counting:
        """Its episodes last as many steps as there were environments before it, plus one."""

        def __init__(self) -> None:
            made.append(self)
            self.length, self.steps = len(made), 0

        def reset(self, seed: int | None = None) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
            self.steps = 0
            return np.zeros(1), {}

        def step(self, action: Any) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
            self.steps += 1
            return np.zeros(1), 1.0, self.steps == self.length, False, {}

    returns = Evaluator(lambda obs: np.zeros(len(obs)), Counting)(20, seed=1)
    assert sorted(returns) == sorted([1, 2, 3, 4, *range(1, 17)])
