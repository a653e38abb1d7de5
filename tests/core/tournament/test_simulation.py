"""Whole tournaments in simulated time: nothing is lost, everybody is told apart from luck, and nobody waits."""

import argparse
import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from podracer_core.spec import MODES
from podracer_core.tournament import simulate, synthetic
from podracer_core.tournament.leaderboard import ranked
from podracer_core.tournament.simulation import Simulation
from podracer_core.tournament.synthetic import Learner, Workers


def options(**changes: Any) -> argparse.Namespace:
    parsed = simulate._parser().parse_args([])
    return argparse.Namespace(**{**vars(parsed), "slots": 20, "pods": 200, **changes})


def run(mode: str, seed: int = 1, **changes: Any) -> Simulation:
    given = options(**changes)
    workers = Workers.drawn(given.slots, given.tail, given.loss, np.random.default_rng(seed))
    simulation = Simulation(
        simulate.simulated_spec(mode, given, seed), workers, seed, stop_at_target=not given.to_the_end
    )
    simulation.run()
    return simulation


EVERYTHING = {"fresh": 0.2, "exploit": 0.3, "crossover": 0.2, "fuse": 0.1, "continue": 0.1, "rerun": 0.1}


@pytest.mark.parametrize("mode", MODES)
def test_every_pod_counts_once_and_the_leaderboard_is_the_best_of_them(mode: str) -> None:
    found = run(mode, to_the_end=True, strategies=EVERYTHING, max_per_ancestor=1.0, loss=0.2)
    assert found.outcome.pods == 200
    scored = [agent.entry for agent in found.agents if agent.entry is not None]
    assert [entry.index for entry in found.board] == [entry.index for entry in ranked(scored)[:8]]
    invalid = {agent.index for agent in found.agents if agent.entry is None or not agent.entry.valid}
    assert not invalid & {parent for agent in found.agents for parent in agent.offspring.parents}


def test_the_same_seed_gives_the_same_tournament() -> None:
    one, other = run("asynchronous", strategies=EVERYTHING), run("asynchronous", strategies=EVERYTHING)
    assert one.board == other.board
    assert one.outcome.seconds == other.outcome.seconds


def test_every_strategy_takes_part() -> None:
    found = run("asynchronous", to_the_end=True, strategies=EVERYTHING)
    assert set(Counter(agent.offspring.strategy for agent in found.agents)) == set(EVERYTHING)


def test_nobody_waits_for_the_slowest_but_a_generation() -> None:
    asynchronous, generational = run("asynchronous", slots=30, pods=600), run("generational", slots=30, pods=600)
    assert asynchronous.outcome.utilisation > 0.97 > 0.3 > generational.outcome.utilisation
    assert asynchronous.outcome.time_to_target is not None
    assert asynchronous.outcome.time_to_target < 0.5 * (generational.outcome.time_to_target or math.inf)


def test_second_evaluations_bring_shown_scores_down_to_the_truth() -> None:
    def flattery(reevaluate: bool) -> float:
        excess = []
        for seed in range(3):
            given = options(strategies={"fresh": 1}, pods=150)
            spec = simulate.simulated_spec("asynchronous", given, seed)
            spec = spec.model_copy(
                update={
                    "leaderboard": spec.leaderboard.model_copy(update={"reevaluate": reevaluate, "eval_episodes": 4})
                }
            )
            workers = Workers.drawn(20, 2.0, 0.0, np.random.default_rng(seed))
            simulation = Simulation(spec, workers, seed, stop_at_target=False)
            simulation.run()
            first = simulation.board[0]
            excess.append(first.score - simulation.agents[first.index].learner.skill)
        return float(np.mean(excess))

    assert flattery(True) < 0.75 * flattery(False)


def test_a_rate_that_suits_teaches_more_than_one_that_does_not() -> None:
    rng = np.random.default_rng(0)
    skills = [synthetic.trained(Learner(500.0), 2, {"learning_rate": rate}, rng).skill for rate in (3e-5, 3e-4, 2.2e-3)]
    assert skills == sorted(skills)
    assert synthetic.fused([Learner(500.0, 1.0), Learner(500.0, 3.0)]).progress == 2.0


def test_the_command_prints_a_line_for_each_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate.main(["--slots", "10", "--pods", "40", "--json", "--modes", "asynchronous", "random_search"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["mode"] for line in lines] == ["asynchronous", "random_search"]
    assert all(0 < line["utilisation"] <= 1 for line in lines)
    assert simulate.main(["--slots", "10", "--pods", "40", "--modes", "generational"]) == 0
    assert "% busy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--slots", "0"], "2 to 10,000"),
        (["--loss", "1"], "0 to 0.9"),
        (["--pods", "many"], "10 to 100,000"),
        (["--parent-selection", "luck"], "softmax"),
        (["--strategies", '{"clone": 1}'], "crossover"),
        (["--modes", "generational", "--slots", "4", "--pods-per-agent", "3"], "at most 2"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        simulate.main(["--pods", "10", "--slots", "4", *arguments])
    assert says in capsys.readouterr().err
