"""The pure parts of the searches that Podracer's tournament is compared with. No peer is installed or run."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import population_page, populations
from benchmarks.peers.contests import SEARCHES
from benchmarks.peers.job import Job
from benchmarks.peers.page import page_text
from benchmarks.peers.population_results import Race, bootstrap, equal_steps, latest, races, score_at, time_ratio
from benchmarks.peers.populations import Asked, done, measure_populations, order, write_line
from benchmarks.peers.results import Results, contests
from benchmarks.peers.tally import EPISODES, Looks, Milestone, Report, SlotClock, Tally
from benchmarks.peers.targets import HOLDS, MISSES, NOT_MEASURED
from benchmarks.peers.venvs import SEARCHERS
from tests.benchmarks.test_peers import HEADER

Run = dict[str, Any]
Look = tuple[float, int, float]

SEEDS = 5


def searched(
    name: str,
    seconds: float,
    *,
    seed: int = 1,
    reached: bool = True,
    looks: tuple[Look, ...] = ((1.0, 50_000, 100.0), (2.0, 100_000, 480.0)),
    env_id: str = "CartPole-v1",
    busy: float = 0.99,
    target: float = 475.0,
) -> Run:
    job = Job("population", env_id, seed=seed, target=target, cap=300.0, env_steps=100_000)
    return {
        "participant": name,
        "round": seed,
        "job": json.loads(job.dump()),
        "seconds": seconds,
        "env_steps": 40_000,
        "total_env_steps": 100_000,
        "reached_target": reached,
        "score": 480.0,
        "looks": [list(look) for look in looks],
        "busy": busy,
    }


def seeds(name: str, seconds: float, *, count: int = SEEDS, **rest: Any) -> list[Run]:
    return [searched(name, seconds + seed / 10, seed=seed, **rest) for seed in range(1, count + 1)]


def everyone(**seconds: float) -> list[Run]:
    """Five seeds of all; negative: so long in vain."""
    known = dict.fromkeys(SEARCHERS, 60.0) | {"asynchronous": 10.0} | seconds
    return [run for name, value in known.items() for run in seeds(name, abs(value), reached=value > 0)]


def race_of(runs: list[Run]) -> Race:
    (race,) = races([Results("one", HEADER, tuple(runs))])
    return race


# The account


def tally(**job: Any) -> Tally:
    return Tally(Job("population", "CartPole-v1", **{"target": 475.0, "cap": 300.0, "env_steps": 1_000} | job))


def test_a_run_is_over_once_the_target_is_reached_and_env_steps_enough_to_compare_are_trained() -> None:
    account = tally()
    assert not account.add(Report(5.0, 400, training=5.0, score=480.0))
    assert not account.add(Report(6.0, 500, training=6.0))
    assert account.add(Report(7.0, 100, training=2.0, score=300.0))
    found = account.result()
    assert (found["reached_target"], found["seconds"], found["env_steps"], found["score"]) == (True, 5.0, 400, 480.0)
    assert (found["total_seconds"], found["total_env_steps"]) == (7.0, 1_000)
    assert found["busy"] == pytest.approx(13 / 14, abs=1e-3)


def test_a_run_is_over_at_its_cap_and_says_the_best_that_it_had() -> None:
    account = tally(cap=10.0)
    assert not account.add(Report(4.0, 400, training=4.0, score=200.0))
    assert account.add(Report(10.5, 400, training=6.0, evaluating=0.5, score=100.0))
    found = account.result(agents=2)
    assert (found["reached_target"], found["seconds"], found["score"], found["agents"]) == (False, 10.5, 200.0, 2)
    assert found["looks"] == [(4.0, 400, 200.0)]


def test_a_target_met_after_the_cap_is_missed() -> None:
    account = tally(cap=10.0)
    account.add(Report(10.5, 400, training=6.0, score=480.0))
    assert not account.result()["reached_target"]


def test_a_milestone_is_passed_once() -> None:
    milestone = Milestone(100)
    assert [milestone.passed(steps) for steps in (50, 100, 150)] == [False, True, False]


def test_an_agent_is_looked_at_when_its_returns_promise_the_target_and_the_clock_stands_still() -> None:
    clock = SlotClock(began=0.0)
    looks = Looks(Job("population", "CartPole-v1", target=100.0, cap=60.0), clock, num_envs=1)
    asked: list[int] = []

    def evaluate(episodes: int, seed: int) -> list[float]:
        asked.append(episodes)
        return [50.0, 70.0] * (episodes // 2)

    looks.episodes([0.0] * 10)
    assert looks.look(100, evaluate) is None
    before = clock.paused
    looks.episodes([90.0] * 10)
    assert looks.look(200, evaluate) == 60.0
    assert asked == [EPISODES]
    assert clock.paused > before
    assert looks.look(201, evaluate) is None
    assert looks.look(202, evaluate, now=True) == 60.0


# Who runs when


def test_a_seed_of_everyone_everywhere_comes_before_the_next() -> None:
    found = order(["a", "b"], ["X", "Y"], 2)
    first, second = found[:4], found[4:]
    assert first == [(1, "X", "a"), (1, "X", "b"), (1, "Y", "a"), (1, "Y", "b")]
    assert second == [(2, "X", "b"), (2, "X", "a"), (2, "Y", "b"), (2, "Y", "a")]


def test_a_later_call_runs_only_what_is_missing_or_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(["CartPole-v1"], ["asynchronous", "random_search"], seeds=2, cap=300.0)
    ran: list[tuple[str, int]] = []

    def run(participant: Any, python: Path, job: Job) -> dict[str, Any]:
        ran.append((job.mode, job.seed))
        if len(ran) == 2:
            return {"failed": "the power went out"}
        return {"seconds": 1.0, "env_steps": 1, "score": 500.0, "reached_target": True}

    monkeypatch.setattr(populations, "run", run)
    (path,) = measure_populations(asked, home=tmp_path, out=tmp_path / "results", minutes=1)
    (again,) = measure_populations(asked, home=tmp_path, out=tmp_path / "results", minutes=1)
    assert path == again
    assert len(ran) == 5
    assert ran[4] == ran[1]
    assert done(path) == {(name, seed) for name in asked.names for seed in (1, 2)}


def test_no_seed_begins_after_its_time(tmp_path: Path) -> None:
    asked = Asked(["CartPole-v1"], ["asynchronous"], seeds=1, cap=300.0)
    (path,) = measure_populations(asked, home=tmp_path, out=tmp_path, minutes=0)
    assert done(path) == set()


def test_a_line_that_was_cut_off_is_dropped_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    write_line(path, {"a": 1})
    path.write_text(path.read_text() + '{"b": ')
    write_line(path, {"c": 3})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"a": 1}, {"c": 3}]


# What the results say


def test_of_a_run_that_was_tried_again_the_last_try_counts() -> None:
    failed = {name: value for name, value in searched("tune", 1.0).items() if name != "seconds"} | {"failed": "no"}
    assert latest([failed, searched("tune", 9.0)]) == [searched("tune", 9.0)]


def test_searches_are_no_contest_of_single_runs() -> None:
    assert contests([Results("one", HEADER, tuple(everyone()))]) == []


def test_how_many_times_as_long_is_a_ratio_of_medians_with_an_interval_that_holds_it() -> None:
    ratio = time_ratio(seeds("asynchronous", 10.0), seeds("tune", 50.0))
    assert ratio is not None
    assert ratio.value == pytest.approx(50.3 / 10.3)
    assert ratio.low <= ratio.value <= ratio.high
    assert time_ratio(seeds("asynchronous", 10.0, reached=False), seeds("tune", 50.0)) is None


def test_the_interval_of_equal_values_is_a_point_and_one_seed_has_none() -> None:
    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    found = bootstrap(mean, [3.0, 3.0, 3.0])
    assert (found.value, found.low, found.high) == (3.0, 3.0, 3.0)
    assert math.isinf(bootstrap(mean, [3.0]).low)


def test_scores_are_compared_at_the_env_steps_that_all_runs_made() -> None:
    slow = [run | {"total_env_steps": 60_000} for run in seeds("tune", 50.0)]
    equal = equal_steps(seeds("asynchronous", 10.0), slow)
    assert equal is not None
    assert equal.env_steps == 60_000
    assert (equal.ours.value, equal.theirs.value, equal.difference.value) == (100.0, 100.0, 0.0)


def test_a_score_is_that_of_the_latest_look_by_then() -> None:
    run = searched("tune", 9.0, looks=((1.0, 10, 5.0), (2.0, 104, 7.0), (3.0, 106, 9.0)))
    assert [score_at(run, steps) for steps in (9, 10, 100, 101)] == [None, 5.0, 7.0, 9.0]


def test_a_run_that_failed_is_no_value() -> None:
    failed = searched("tune", 0.0, seed=9) | {"failed": "ImportError: no"}
    row = race_of([*seeds("asynchronous", 10.0), *seeds("tune", 50.0), failed]).row("tune")
    assert row is not None
    assert (row.summary.runs, row.summary.reached, row.summary.failed) == (6, 5, "ImportError: no")


# The page


def verdict_of(runs: list[Run], what: str) -> str:
    (row,) = [row for row in population_page.verdicts([race_of(runs)]) if row.what.startswith(what)]
    return row.verdict


def test_a_search_is_compared_with_the_tournament_of_its_own_file() -> None:
    earlier = Results("1", HEADER, tuple(everyone(asynchronous=10.0, tune=60.0, random_search=20.0)))
    later = Results("2", HEADER, tuple(seeds("asynchronous", 30.0) + seeds("random_search", 90.0)))
    (race,) = races([earlier, later])
    medians = {name: row.summary.median for name in SEARCHERS if (row := race.row(name))}
    assert medians["asynchronous"] == pytest.approx(30.3)
    assert (medians["random_search"], medians["tune"]) == (pytest.approx(90.3), pytest.approx(60.3))
    ratios = {name: row.ratio.value for name in ("tune", "random_search") if (row := race.row(name)) and row.ratio}
    assert ratios == {"tune": pytest.approx(60.3 / 10.3), "random_search": pytest.approx(90.3 / 30.3)}


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        ({}, HOLDS),
        ({"tune": 40.0}, MISSES),
        ({"random_search": 9.0}, MISSES),
        ({"asynchronous": -300.0}, MISSES),
        ({"tune": -300.0, "evolution": -300.0}, HOLDS),
        ({"tune": -30.0}, NOT_MEASURED),
    ],
)
def test_the_tournament_has_to_be_ahead_of_everyone_and_far_ahead_of_two(
    seconds: dict[str, float], verdict: str
) -> None:
    assert verdict_of(everyone(**seconds), "CartPole-v1") == verdict


def test_too_few_seeds_or_somebody_missing_decide_nothing() -> None:
    assert verdict_of([run for run in everyone() if run["round"] < SEEDS], "CartPole-v1") == NOT_MEASURED
    assert verdict_of([run for run in everyone() if run["participant"] != "tune"], "CartPole-v1") == NOT_MEASURED


@pytest.mark.parametrize(("others", "verdict"), [(45.0, HOLDS), (35.0, MISSES)])
def test_a_far_target_is_reached_before_our_own_searches(others: float, verdict: str) -> None:
    far = {"env_id": "HalfCheetah-v5", "target": 4800.0}
    runs = [*seeds("asynchronous", 40.0, **far), *seeds("generational", others, **far)]
    assert verdict_of(runs, "HalfCheetah-v5: tournament to 4800") == NOT_MEASURED
    runs += seeds("random_search", 50.0, **far)
    assert verdict_of(runs, "HalfCheetah-v5: tournament to 4800") == verdict


@pytest.mark.parametrize(("beaten", "verdict"), [(6, MISSES), (7, HOLDS)])
def test_the_score_at_equal_env_steps_has_to_be_better_than_most_that_the_target_names(
    beaten: int, verdict: str
) -> None:
    files = []
    for env_id, search in SEARCHES.items():
        runs = seeds("asynchronous", 10.0, env_id=env_id, target=search.target)
        for name in ("optuna", "tune", "evolution", "generational", "random_search"):
            score = 900.0 if name == "optuna" else 100.0 if beaten > 0 else 480.0
            beaten -= name != "optuna"
            looks = ((1.0, 100_000, score),)
            runs += seeds(name, 60.0, env_id=env_id, target=search.target, looks=looks)
        files.append(Results(env_id, HEADER, tuple(runs)))
    (row,) = [row for row in population_page.verdicts(races(files)) if "score at equal" in row.what]
    assert row.verdict == verdict


def test_each_target_of_an_environment_is_a_race_of_its_own() -> None:
    far = Results("2", HEADER, tuple(seeds("asynchronous", 40.0, target=900.0)))
    near = Results("1", HEADER, tuple(everyone()))
    assert {race.target: len(race.rows) for race in races([near, far])} == {475.0: len(SEARCHERS), 900.0: 1}


def test_slots_have_to_be_busy() -> None:
    for busy, verdict in ((0.985, HOLDS), (0.97, MISSES)):
        runs = seeds("asynchronous", 40.0, env_id="HalfCheetah-v5", busy=busy, target=4800.0)
        assert verdict_of(runs, "HalfCheetah-v5: slot time") == verdict


def test_the_page_says_who_missed_the_target_and_how_often() -> None:
    runs = [*seeds("asynchronous", 10.0), *seeds("tune", 50.0, count=2), searched("tune", 300.0, seed=3, reached=False)]
    text = page_text([Results("one", HEADER, tuple(runs))], "benchmarks")
    assert "2 of 3; not within 300 s in 1" in text
    for line in population_page.section([race_of(runs)]).splitlines():
        assert not line.startswith("|") or line.count("|") == 11


def test_the_page_of_a_first_seed_has_no_intervals() -> None:
    text = population_page.section([race_of([searched("asynchronous", 10.0), searched("tune", 52.0)])])
    assert "5.2 x |" in text
    assert "480 (one seed) at 100,000" in text
