"""What an environment outside the catalogue is, found out in a fresh interpreter and remembered.

`python -m podracer_core.envs.probe ENV_ID` prints a JSON line: {"entry": ..., "lasting": ...} or
{"error": ..., "text": ...}. Lasting is what an id of Gymnasium's own is; a package that the operator allows may be
somebody's work of today, so that is remembered in memory only.
"""

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from podracer_core.envs.catalogue import CatalogueEntry
from podracer_core.envs.tuned import DEFAULT_NUM_ENVS
from podracer_core.errors import EnvError, UnknownEnvironmentError, UnsupportedSpaceError

TIMEOUT = 60.0
"""Seconds an environment may take to start; the slowest known (MuJoCo, first import) takes about 5."""

MEASURE_SECONDS, MEASURE_STEPS = 0.2, 400
VECTOR_STEP_SECONDS = 0.5e-3
MOST_NUM_ENVS = 64

_found: dict[str, CatalogueEntry] = {}
_ERRORS = {error.__name__: error for error in (UnknownEnvironmentError, UnsupportedSpaceError)}


def probe_environment(env_id: str) -> CatalogueEntry:
    """The entry of a registered id: from memory, from the disk, else from a subprocess.

    Failures are not remembered: installing what was missing helps at once.
    Raises EnvError, UnknownEnvironmentError, UnsupportedSpaceError.
    """
    entry = _found.get(env_id) or _read(env_id)
    if entry is None:
        entry, lasting = _run(env_id)
        if lasting:
            _write(env_id, entry)
    _found[env_id] = entry
    return entry


def _run(env_id: str) -> tuple[CatalogueEntry, bool]:
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH")) if part)
    environ = os.environ | {"PYTHONPATH": path, "PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy"}
    command = [sys.executable, "-m", "podracer_core.envs.probe", env_id]
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise EnvError(f"{env_id} did not start within {TIMEOUT:.0f} seconds.") from error
    return _answer(env_id, done)


def _answer(env_id: str, done: "subprocess.CompletedProcess[str]") -> tuple[CatalogueEntry, bool]:
    """Reads the answer among what the environment prints; a process may also die without one."""
    starts = ('{"entry"', '{"error"')
    lines = [line for line in done.stdout.splitlines() if line.startswith(starts)]
    if done.returncode != 0 or not lines:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise EnvError(f"{env_id} does not start: its process ended with code {done.returncode} ({last[:300]}).")
    answer = json.loads(lines[-1])
    if "entry" in answer:
        return CatalogueEntry.model_validate(answer["entry"]), bool(answer["lasting"])
    raise _ERRORS.get(answer["error"], EnvError)(answer["text"])


def _cache_file(env_id: str) -> Path:
    home = os.environ.get("PODRACER_HOME")
    folder = Path(home) / "cache" if home else Path.home() / ".cache" / "podracer"
    return folder / "environments" / f"{quote(env_id, safe='')}-gymnasium-{version('gymnasium')}.json"


def _read(env_id: str) -> CatalogueEntry | None:
    try:
        return CatalogueEntry.model_validate_json(_cache_file(env_id).read_bytes())
    except (OSError, ValidationError):  # absent, unreadable, or written by another version: probe again
        return None


def _write(env_id: str, entry: CatalogueEntry) -> None:
    file = _cache_file(env_id)
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(entry.model_dump_json())
        part.replace(file)
    except OSError:  # a home that cannot be written costs the next process a probe, nothing else
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def seconds_per_step(env: Any) -> float | None:
    """The median of some steps with random actions; None where they fail, which training will tell better."""
    taken: list[float] = []
    until = time.perf_counter() + MEASURE_SECONDS
    try:
        env.action_space.seed(0)
        env.reset(seed=0)
        while len(taken) < 3 or (len(taken) < MEASURE_STEPS and time.perf_counter() < until):
            began = time.perf_counter()
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            taken.append(time.perf_counter() - began)
            if terminated or truncated:
                env.reset()
    except Exception:  # an environment may raise anything
        return None
    return statistics.median(taken)


def num_envs_for(step_seconds: float | None) -> int:
    """So many that a step of all takes about VECTOR_STEP_SECONDS, what a learner adds to it being then a small part.

    In powers of two, so that the machine's mood does not change it. Environments dearer than that are spread over
    processes and get the fewest.
    """
    if not step_seconds:
        return DEFAULT_NUM_ENVS
    wanted = math.log2(VECTOR_STEP_SECONDS / step_seconds)
    return int(2 ** min(max(round(wanted), math.log2(DEFAULT_NUM_ENVS)), math.log2(MOST_NUM_ENVS)))


def main(env_id: str) -> None:
    """The subprocess."""
    import gymnasium

    from podracer_core.envs.registered import describe, registered_spec, start
    from podracer_core.envs.wrapped import is_atari

    lasting = env_id in gymnasium.registry or is_atari(env_id)
    try:
        env = start(registered_spec(env_id))
        entry = describe(env).model_copy(update={"num_envs": num_envs_for(seconds_per_step(env))})
        answer: dict[str, object] = {"entry": entry.model_dump(mode="json"), "lasting": lasting}
        env.close()
    except EnvError as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
