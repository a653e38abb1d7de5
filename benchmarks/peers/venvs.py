"""The participants, and for each peer a virtual environment of its own, made from PyPI."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TORCH = "torch==2.13.0"
ENVIRONMENTS = ("gymnasium[mujoco]==1.4.0", "mujoco==4.0.0", "box2d==2.3.10", "pygame-ce==2.5.8", "numpy==2.4.6")
ERROR_LENGTH = 160


class NotInstalledError(Exception):
    """A peer's packages do not install here; the text is pip's own, shortened."""


@dataclass(frozen=True)
class Participant:
    """runner: a module of benchmarks.peers.runners, or "" for what has never installed, and so cannot be run.

    requirements: what its virtual environment holds; none for Podracer, which has this one
    package: the name under which it is installed
    venv: whose virtual environment it has, where not one of its own
    """

    name: str
    title: str
    runner: str
    requirements: tuple[str, ...] = ()
    package: str = "podracer"
    venv: str = ""


PARTICIPANTS = {
    participant.name: participant
    for participant in (
        Participant("ours", "Podracer", "podracer"),
        Participant(
            "sb3",
            "Stable-Baselines3",
            "stable_baselines3",
            (TORCH, "stable-baselines3==2.9.2", *ENVIRONMENTS),
            "stable_baselines3",
        ),
        Participant(
            "sbx",
            "SBX",
            "sbx",
            (TORCH, "sbx-rl==0.28.0", "jax==0.10.2", "flax==0.12.8", *ENVIRONMENTS),
            "sbx-rl",
        ),
        Participant(
            "envpool",
            "plain EnvPool loop",
            "envpool_loop",
            (TORCH, "envpool==1.2.5", *ENVIRONMENTS),
            "envpool",
        ),
        Participant(
            "rllib",
            "RLlib",
            "rllib",
            (TORCH, "ray[rllib]==2.60.0", "gymnasium[mujoco]==1.2.2", *ENVIRONMENTS[1:]),
            "ray",
        ),
        Participant("skrl", "skrl", "skrl", (TORCH, "skrl==2.1.1", *ENVIRONMENTS), "skrl"),
        Participant(
            "agilerl", "AgileRL", "agilerl", (TORCH, "agilerl==2.58.0", "peft==0.21.2", *ENVIRONMENTS), "agilerl"
        ),
        Participant(
            "sample-factory",
            "Sample Factory",
            "sample_factory",
            (TORCH, "sample-factory==2.1.1", "numpy==1.26.4"),
            "sample-factory",
        ),
        Participant("pufferlib", "PufferLib", "", (TORCH, "pufferlib==3.0.0"), "pufferlib"),
        Participant("elegantrl", "ElegantRL", "", (TORCH, "elegantrl==0.3.6"), "elegantrl"),
    )
}


SEARCHERS = {
    participant.name: participant
    for participant in (
        Participant("asynchronous", "Podracer, asynchronous", "podracer_tournament"),
        Participant("generational", "Podracer, generational", "podracer_tournament"),
        Participant("random_search", "Podracer, random search", "podracer_tournament"),
        Participant(
            "tune",
            "Ray Tune PBT with RLlib",
            "ray_tune",
            PARTICIPANTS["rllib"].requirements,
            PARTICIPANTS["rllib"].package,
            "rllib",
        ),
        Participant(
            "evolution",
            "AgileRL's evolution",
            "agilerl_evolution",
            PARTICIPANTS["agilerl"].requirements,
            PARTICIPANTS["agilerl"].package,
            "agilerl",
        ),
        Participant(
            "optuna",
            "Stable-Baselines3 with Optuna",
            "optuna_trials",
            (*PARTICIPANTS["sb3"].requirements, "optuna==5.0.0"),
            "optuna",
        ),
    )
}
"""Those that search over hyperparameters as they train. Podracer's are named after the modes of its tournament."""


def python_of(participant: Participant, home: Path, *, retry: bool = False) -> Path:
    """The interpreter to run it with, its virtual environment made first where it is missing.

    retry: try anew what did not install before. Raises NotInstalledError.
    """
    if not participant.requirements:
        return Path(sys.executable)
    name, wanted = participant.venv or participant.name, "\n".join(participant.requirements)
    folder, failure = home / name, home / f"{name}.failed"
    python, stamp = folder / "bin" / "python", folder / "requirements"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    if failure.exists() and not retry:
        raise NotInstalledError(failure.read_text())
    try:
        _install(participant, folder)
        if not participant.runner:
            raise NotInstalledError("installs, but there is no runner for it here yet")
    except NotInstalledError as error:
        failure.write_text(str(error))
        raise
    failure.unlink(missing_ok=True)
    stamp.write_text(wanted)
    return python


def _install(participant: Participant, folder: Path) -> None:
    """Bytecode is compiled too, for imports that a library puts off would otherwise be compiled on its clock."""
    python = folder / "bin" / "python"
    print(f"installing {participant.title} into {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    done = subprocess.run([*pip, *participant.requirements], check=False, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise NotInstalledError(shortened(done.stderr))
    subprocess.run(
        [str(python), "-m", "compileall", "-qq", "-j", "0", str(folder / "lib")],
        check=False,
        capture_output=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )


def versions(participant: Participant, python: Path) -> dict[str, str]:
    """Of the packages that matter, as that interpreter has them."""
    names = sorted(
        {participant.package, "stable-baselines3", "torch", "gymnasium", "numpy", "mujoco", "jax", "envpool"}
        - {"podracer"}
    )
    script = (
        "import importlib.metadata as m, json, platform, sys\n"
        "found = {d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}\n"
        "names = [n.lower().replace('_', '-') for n in sys.argv[1:]]\n"
        "print(json.dumps({'python': platform.python_version()} | {n: found[n] for n in names if n in found}))"
    )
    done = subprocess.run([str(python), "-c", script, *names], check=True, capture_output=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def shortened(text: str) -> str:
    """What went wrong, in one line: the innermost error that the text names, else its last line."""
    lines = [line.strip(" │╰─>×") for line in text.splitlines() if not line.lstrip().startswith("WARNING")]
    lines = [line for line in lines if line]
    named = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception", "NotInstalled"))]
    line = (named or lines or ["no word of why"])[-1]
    return line if len(line) <= ERROR_LENGTH else f"{line[: ERROR_LENGTH - 1]}…"
