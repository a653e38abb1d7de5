"""The command line, as a person or a script runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import safe_open

KEYS = [
    "env_id",
    "algorithm",
    "seed",
    "env_steps",
    "seconds",
    "env_steps_per_second",
    "score",
    "score_low",
    "score_high",
    "episodes",
    "reached_target",
]


def command(*arguments: str | Path, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "podracer_core", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """An agent that solved CartPole, and what the command said."""
    out = tmp_path_factory.mktemp("trained") / "agent.safetensors"
    ran = command(
        *("train", "--env", "CartPole-v1", "--algorithm", "ppo", "--target-score", "475", "--seed", "1"),
        *("--out", out, "--json"),
    )
    return out, ran


def test_training_to_a_target_ends_with_one_json_line(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, ran = trained
    assert (ran.returncode, ran.stderr) == (0, "")
    (line,) = ran.stdout.splitlines()
    answer = json.loads(line)
    assert list(answer) == KEYS
    assert answer["reached_target"] is True
    assert answer["score"] >= 475
    assert answer["episodes"] == 100
    assert answer["env_steps_per_second"] == pytest.approx(answer["env_steps"] / answer["seconds"], rel=0.01)


def test_the_agent_plays_the_real_environment_as_it_was_scored(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    ran = command("evaluate", trained[0], "--episodes", "20", "--json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert list(answer) == ["env_id", "episodes", "score", "score_low", "score_high", "episode_length"]
    assert answer["score"] >= 475
    assert answer["episode_length"] == answer["score"]
    assert "CartPole-v1: score" in command("evaluate", trained[0], "--episodes", "2").stdout


def test_a_missed_target_is_no_failure_and_hyperparameters_are_in_effect(tmp_path: Path) -> None:
    out = tmp_path / "agent.safetensors"
    ran = command(
        *("train", "--env", "CartPole-v1", "--target-score", "475", "--env-steps", "600", "--out", out),
        *("--set", "learning_rate=1e-4", "--set", "norm_obs=true", "--num-envs", "4", "--threads", "1"),
    )
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout.splitlines()[-1])
    assert answer["reached_target"] is False
    assert answer["env_steps"] == 600  # whole steps of 4 environments
    assert "4 environments on cpu, 1 thread" in ran.stderr
    with safe_open(out, "numpy") as file:
        hyperparameters = json.loads(file.metadata()["hyperparameters"])
    assert (hyperparameters["learning_rate"], hyperparameters["norm_obs"]) == (1e-4, True)


def test_a_continuous_environment_trains_and_plays(tmp_path: Path) -> None:
    out = tmp_path / "agent.safetensors"
    ran = command("train", "--env", "Pendulum-v1", "--env-steps", "2000", "--out", out, "--json")
    assert ran.returncode == 0, ran.stderr
    ran = command("evaluate", out, "--episodes", "2", "--json")
    assert json.loads(ran.stdout)["episode_length"] == 200


BAD_TRAIN = {
    "unknown environment": (["--env", "CartPol-v1"], "Did you mean CartPole-v1"),
    "module in the id": (["--env", "os:CartPole-v1"], "names a module to import, which is not allowed"),
    "unknown algorithm": (["--algorithm", "pppo"], "Unknown algorithm 'pppo'; available: ppo"),
    "algorithm that does not fit": (["--algorithm", "td3"], "td3 cannot choose discrete actions"),
    "critics that are not there": (
        ["--env", "Pendulum-v1", "--algorithm", "redq", "--set", "num_subset=11"],
        "11 critics cannot be drawn from 5",
    ),
    "unknown hyperparameter": (["--set", "lr=1"], "no hyperparameter 'lr'; it has learning_rate, anneal_lr"),
    "no number": (["--set", "learning_rate=fast"], "learning_rate=fast"),
    "threads that would take the machine down": (["--threads", "999999"], "--threads 999999 is too many"),
    "NaN hyperparameter": (["--set", "learning_rate=nan"], "finite number"),
    "out of bounds": (["--set", "gamma=1.5"], "gamma=1.5"),
    "no assignment": (["--set", "gamma"], "NAME=VALUE"),
    "no batch": (["--set", "num_minibatches=300"], "300 minibatches are too many for a batch of 256"),
    "NaN target": (["--target-score", "nan"], "'nan' is not a finite number"),
    "impossible target": (["--target-score", "501"], "gives at most 500"),
    "missing device": (["--device", "cuda:97"], "'cuda:97' is not on this machine, which has cpu"),
    "unknown device": (["--device", "tpu9"], "Unknown device 'tpu9'"),
    "no steps": (["--env-steps", "0"], "'0' is not a whole number from 1 up"),
    "nowhere to write": (["--out", "/nowhere/agent.safetensors"], "/nowhere/agent.safetensors cannot be written"),
    "folder to write": (["--out", "/"], "is a folder"),
    "unknown option": (["--steps", "3"], "--steps"),
}


def assert_refused(ran: subprocess.CompletedProcess[str], sentence: str) -> None:
    """One line on stderr that says what is wrong, status 2, nothing on stdout."""
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    assert sentence in ran.stderr


@pytest.mark.parametrize("kind", BAD_TRAIN)
def test_bad_input_is_refused_in_a_sentence_before_anything_trains(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from podracer_core.__main__ import main

    arguments, sentence = BAD_TRAIN[kind]
    base = [] if "--env" in arguments else ["--env", "CartPole-v1"]
    returncode = main(["train", *base, *arguments])
    stdout, stderr = capsys.readouterr()
    assert_refused(subprocess.CompletedProcess([], returncode, stdout, stderr), sentence)


def test_an_agent_plays_in_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from podracer_core.__main__ import main

    agent = str(tmp_path / "beginner.safetensors")  # which falls soon, for a window shows every step
    assert main(["train", "--env", "CartPole-v1", "--env-steps", "64", "--out", agent, "--json"]) == 0
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    assert main(["play", agent]) == 2
    assert "no screen here to play on; `evaluate --render" in capfd.readouterr().err
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert main(["play", agent, "--episodes", "1"]) == 0
    assert "episode 1: return " in capfd.readouterr().out


def test_no_traceback_reaches_the_terminal_for_a_foreign_file(tmp_path: Path) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("not an agent, but long enough to be read as a header")
    assert_refused(command("evaluate", foreign), "is not a .safetensors file that Podracer wrote")
    assert_refused(command("evaluate", tmp_path / "none"), "cannot be read: No such file")


def test_environments_are_listed_for_people_and_for_programs() -> None:
    table = command("envs").stdout
    assert all(name in table for name in ("CartPole-v1", "Pendulum-v1", "solved at"))
    entries = json.loads(command("envs", "--json").stdout)
    assert "CartPole-v1" in [entry["id"] for entry in entries]


def test_listing_needs_no_torch() -> None:
    code = "import sys, podracer_core.__main__ as m; m.main(['envs']); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_ctrl_c_ends_the_round_with_a_score_and_a_file(tmp_path: Path) -> None:
    out = tmp_path / "agent.safetensors"
    arguments = ["train", "--env", "CartPole-v1", "--env-steps", "100000000", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "podracer_core", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    while "env steps" not in process.stderr.readline():
        assert process.poll() is None
    os.kill(process.pid, 2)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(stdout)["episodes"] == 100
    assert out.exists()


def test_training_leaves_the_arithmetic_of_its_process_as_it_was() -> None:
    from podracer_core.__main__ import main

    assert main(["train", "--env", "CartPole-v1", "--env-steps", "256", "--json"]) == 0
    smallest = float("5e-324")
    assert smallest * 1.0 > 0
