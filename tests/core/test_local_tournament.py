"""A tournament with no server: what it leaves in its folder, and that nothing is lost or counted twice."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import podracer_core
from podracer_core.__main__ import main
from podracer_core.commands.tournament import summary
from podracer_core.local.display import picture
from podracer_core.local.home import Home, HomeError
from podracer_core.local.records import EventRecord, PodStatus, TournamentStatus
from podracer_core.local.tournament import LocalTournament
from podracer_core.playing import play_episodes
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.leaderboard import ranked
from podracer_core.tournament.stopping import stop_reason
from tests.event_files import read
from tests.stack import wait_for

REPOSITORY = Path(podracer_core.__file__).parents[1]
LIMIT = 60.0


def make_spec(pods: int = 4, **changes: Any) -> TournamentSpec:
    spec = {
        "name": "local",
        "env_id": "CartPole-v1",
        "round": {"env_steps": 2_000},
        "leaderboard": {"size": 3, "eval_episodes": 4, "ensemble": 2},
        "stop": {"pods": pods},
    }
    return spec_parse(spec | changes)


def run(spec: TournamentSpec, folder: Path, **options: Any) -> LocalTournament:
    tournament = LocalTournament(spec, folder, slots=1, **options)
    tournament.run()
    return tournament


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> LocalTournament:
    return run(make_spec(), tmp_path_factory.mktemp("finished") / "home")


def test_it_ends_by_its_stop_rule_with_the_best_agents_in_order(finished: LocalTournament) -> None:
    record, agents = finished.record, finished.agents
    assert (record.status, record.reason) == (TournamentStatus.FINISHED, "All 4 pods finished.")
    scored = [agent.entry for agent in agents.values() if agent.status is PodStatus.FINISHED]
    assert len(scored) == 4
    board = [agents[row.agent].entry for row in record.leaderboard]
    assert board == ranked(board)
    assert board[0] == ranked(scored)[0]
    assert record.best_history[-1] == board[0].score


def test_its_winner_plays(finished: LocalTournament) -> None:
    checkpoint = finished.home.checkpoint_file(finished.record.leaderboard[0].agent)
    assert checkpoint is not None
    assert podracer_core.load_agent(checkpoint).act([0.0, 0.0, 0.0, 0.0]) in (0, 1)


def test_it_ends_with_the_ensemble_that_its_specification_asks_for(finished: LocalTournament) -> None:
    (ensemble,) = finished.home.ensembles.values()
    best = [row.agent for row in finished.record.leaderboard[:2]]
    assert (ensemble.name, ensemble.members) == ("ens-1", best)
    agent = podracer_core.load_agent(finished.home.ensemble_file(0))
    assert ensemble.returns == [one.episodic_return for one in play_episodes(agent, 8, ensemble.seed)]
    assert finished.home.events[-1].text.startswith("ens-1, an ensemble of ")
    assert any(line.startswith("   –  ens-1") for line in picture(finished))
    (shown,) = summary(finished)["ensembles"]
    assert (shown["score"], shown["episodes"]) == (ensemble.score, 8)


def test_an_ensemble_that_was_interrupted_is_made_by_the_next_run(tmp_path: Path) -> None:
    def interrupt(tournament: LocalTournament) -> None:
        if tournament.ensemble_share:
            tournament.pause()

    spec = make_spec(pods=2, round={"env_steps": 512})
    interrupted = run(spec, tmp_path, watch=interrupt)
    assert (interrupted.record.status, interrupted.home.ensembles) == (TournamentStatus.FINISHED, {})
    assert run(spec, tmp_path).home.ensembles[0].returns
    again = run(spec, tmp_path)
    assert [event.kind for event in again.home.events].count("ensemble_made") == 1


def test_everything_is_read_back_from_its_folder(finished: LocalTournament) -> None:
    again = Home(finished.home.folder)
    again.read()
    assert again.spec == finished.spec
    assert again.agents == finished.agents
    assert again.tournament == finished.record
    assert again.ensembles == finished.home.ensembles
    assert again.events == finished.home.events
    for agent in again.agents.values():
        steps = [point[0] for point in again.curve(agent.index)]
        assert steps == sorted(set(steps))
        assert steps[-1] == agent.env_steps


def test_its_curves_are_written_for_tensorboard(
    finished: LocalTournament, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, out = ["tensorboard", str(finished.home.folder), "--out", str(tmp_path / "runs")], tmp_path / "runs"
    assert main(command) == 0
    assert "4 runs" in capsys.readouterr().out
    best = finished.agents[finished.record.leaderboard[0].agent]
    (file,) = (out / "board" / f"1-{best.name}").iterdir()
    run = read(file.read_bytes())
    curve = [(best.base_env_steps + steps, value) for steps, _, value, _ in finished.home.curve(best.index)]
    shown = [(step, pytest.approx(value)) for _, step, value in run.scalars["training/episodic_return"]]
    assert shown == [point for point in curve if point[1] is not None]
    assert run.scalars["evaluation/score"][0][1:] == (best.base_env_steps + best.env_steps, pytest.approx(best.score))
    assert run.hparams["learning_rate"] == best.hyperparameters["learning_rate"]
    assert main(command) == 2
    assert "is not an empty folder" in capsys.readouterr().err
    assert main(["tensorboard", str(tmp_path), "--out", str(tmp_path / "other")]) == 2
    assert "is not the folder of a tournament" in capsys.readouterr().err


def test_a_finished_tournament_stays_as_it_is(finished: LocalTournament) -> None:
    before = (finished.home.folder / "journal.jsonl").read_bytes()
    again = run(finished.spec, finished.home.folder)
    assert again.record.leaderboard == finished.record.leaderboard
    assert before in (finished.home.folder / "journal.jsonl").read_bytes()
    assert len(again.agents) == len(finished.agents)


def test_another_tournament_in_the_folder_is_refused(finished: LocalTournament) -> None:
    with pytest.raises(HomeError, match=r"another tournament, 'local': stop\.pods is 4 there, 5 here\. "):
        LocalTournament(make_spec(pods=5), finished.home.folder, slots=1)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    first = LocalTournament(make_spec(), tmp_path, slots=1)
    with pytest.raises(HomeError, match="Another process runs the tournament"):
        LocalTournament(make_spec(), tmp_path, slots=1)
    first.home.close()


def test_a_line_that_a_crash_cut_off_is_as_if_it_had_not_been_written(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.open(make_spec())
    home.write(EventRecord(1.0, "a", "first"))
    home.close()
    with (tmp_path / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"event": {"at": 2.0, "ki')
    again = Home(tmp_path)
    again.open(make_spec())
    again.write(EventRecord(3.0, "b", "second"))
    again.close()
    read = Home(tmp_path)
    read.read()
    assert [event.text for event in read.events] == ["first", "second"]


def test_pausing_and_going_on_loses_and_repeats_nothing(tmp_path: Path) -> None:
    def pause(tournament: LocalTournament) -> None:
        if tournament.record.leaderboard:
            tournament.pause()

    spec = make_spec(pods=4, round={"env_steps": 20_000})
    paused = run(spec, tmp_path, watch=pause)
    assert paused.record.status is TournamentStatus.PAUSED
    trained = {agent.index: agent.env_steps for agent in paused.agents.values()}
    resumed = run(spec, tmp_path)
    assert resumed.record.status is TournamentStatus.FINISHED
    assert all(resumed.agents[index].env_steps >= steps for index, steps in trained.items())
    assert_counted_once(resumed)


@pytest.mark.timeout(180)
def test_a_program_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(
        'env_id = "CartPole-v1"\n[round]\nenv_steps = 30000\n[leaderboard]\neval_episodes = 4\n[stop]\npods = 3\n'
    )
    home = tmp_path / "home"
    command = [
        sys.executable,
        "-m",
        "podracer_core",
        "tournament",
        "spec.toml",
        f"--home={home}",
        "--slots=2",
        "--json",
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    first = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    wait_for(lambda: any((home / "agents").glob("*/curve.jsonl")), LIMIT, "a pod in the middle of its first round")
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert second.returncode == 0, second.stderr
    answer = json.loads(second.stdout)
    assert answer["status"] == "FINISHED"
    assert answer["pods"]["finished"] == 3
    tournament = LocalTournament(Home(home).spec, home, slots=1)
    assert_counted_once(tournament)
    tournament.home.close()


def test_a_pod_that_cannot_train_fails_the_tournament_with_its_reason(tmp_path: Path) -> None:
    spec = make_spec(pods=10, pool={"device": "cuda"}, max_failures=2)
    tournament = run(spec, tmp_path)
    assert tournament.record.status is TournamentStatus.FAILED
    assert "2 pods in a row failed for the same reason: " in tournament.record.reason
    assert "cuda" in tournament.record.reason


def test_a_device_that_is_not_there_is_refused_before_anything_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, home = tmp_path / "spec.json", tmp_path / "home"
    file.write_text(make_spec(pool={"device": "cuda"}).model_dump_json())
    assert main(["tournament", str(file), "--home", str(home)]) == 2
    assert "'cuda' is not on this machine" in capsys.readouterr().err
    assert not home.exists()


def test_a_generation_descends_from_the_whole_of_the_last_one(tmp_path: Path) -> None:
    generator = {"mode": "generational", "survivors": 0.5}
    agents = run(make_spec(12, generator=generator, pool={"size": 4}, round={"env_steps": 512}), tmp_path).agents
    assert Counter(agent.stage for agent in agents.values()) == {0: 4, 1: 4, 2: 4}
    for stage in (1, 2):
        before = ranked(agent.entry for agent in agents.values() if agent.stage == stage - 1)
        made = [agent for agent in agents.values() if agent.stage == stage]
        assert [agent.parents for agent in made] == [[before[rank].index] for rank in (0, 1, 0, 1)]
        assert [agent.strategy for agent in made] == ["continue", "continue", "exploit", "exploit"]
        assert all(bool(agent.changes) == (agent.strategy == "exploit") for agent in made)


def assert_counted_once(tournament: LocalTournament) -> None:
    """Each finished agent is told of once, and its env steps are its own round's."""
    told = Counter(event.agent for event in tournament.home.events if event.kind in ("agent_entered", "agent_rejected"))
    assert set(told.values()) == {1}
    assert set(told) == {agent.index for agent in tournament.pods(PodStatus.FINISHED)}
    for agent in tournament.pods(PodStatus.FINISHED):
        assert agent.budget is not None
        assert agent.budget <= agent.env_steps < agent.budget + agent.num_envs


def test_pods_that_have_begun_keep_their_parts_of_a_budget_of_env_steps(tmp_path: Path) -> None:
    spec = make_spec(pool={"size": 2}, round={"env_steps": 500}, stop={"env_steps": 1500})
    tournament = LocalTournament(spec, tmp_path, slots=1)
    tournament._fill()
    first, second = tournament.agents.values()
    first.status, first.env_steps = PodStatus.FINISHED, 1500
    assert stop_reason(spec.stop, tournament.standing()) is None
    second.status = PodStatus.FINISHED
    assert stop_reason(spec.stop, tournament.standing()) == "The budget of 1,500 env steps is used up."
    tournament.home.close()


@pytest.mark.parametrize("writes", [2, 3, 4])
def test_a_crash_between_two_writes_leaves_a_generation_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Its agents are made with the third."""
    spec = make_spec(6, generator={"mode": "generational"}, pool={"size": 3}, round={"env_steps": 256})
    write, made = Home.write, list[Any]()

    def crash(home: Home, *records: Any) -> None:
        if len(made) == writes:
            raise SystemExit
        made.append(records)
        write(home, *records)

    with monkeypatch.context() as patched:
        patched.setattr(Home, "write", crash)
        with pytest.raises(SystemExit):
            run(spec, tmp_path)
    agents = run(spec, tmp_path).agents
    assert Counter(agent.stage for agent in agents.values()) == {0: 3, 1: 3}
