"""The sweep that our defaults come from: what it ran is what it says it ran."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def sweep(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks.sweep", "--env", "CartPole-v1", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_settings_are_ranked_by_what_they_reached_and_recorded_as_they_ran(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    grid = ["--set", "learning_rate=1e-6,2e-3", "--set", "num_envs=8"]
    done = sweep("--target-score", "150", "--seeds", "1", "--env-steps", "14000", f"--out={out}", *grid)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[-2:]
    assert first.startswith("1 of 1")
    assert first.endswith("learning_rate=2e-3 num_envs=8")
    assert second.startswith("0 of 1")
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(run["hyperparameters"]["learning_rate"], run["reached"]) for run in runs] == [(1e-6, False), (2e-3, True)]
    assert all(run["num_envs"] == 8 and run["cpu_seconds"] > 0 for run in runs)


def test_a_value_that_does_not_hold_is_told_before_anything_runs() -> None:
    done = sweep("--target-score", "100", "--set", "learning_rate=1e-3,-1")
    assert done.returncode == 2
    assert "learning_rate" in done.stderr
    assert done.stdout == ""
