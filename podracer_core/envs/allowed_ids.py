"""The ids that the packages which the operator allows register, found out in a fresh interpreter.

`python -m podracer_core.envs.allowed_ids` prints them as a JSON list: importing such a package runs its code, which the
web process does not do.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from podracer_core.envs.allowed import VARIABLE, allowed_packages

TIMEOUT = 60.0
MARK = "allowed ids: "

_found: dict[str, list[str]] = {}


def allowed_ids() -> list[str]:
    """Their ids, none where a package fails: choosing one of its environments says why. Asked once a process."""
    packages = os.environ.get(VARIABLE, "")
    if not allowed_packages():
        return []
    if packages not in _found:
        _found[packages] = _run()
    return _found[packages]


def _run() -> list[str]:
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "podracer_core.envs.allowed_ids"]
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return []
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    return list(json.loads(lines[-1].removeprefix(MARK))) if lines else []


def main() -> None:
    """The subprocess."""
    import gymnasium

    from podracer_core.envs.allowed import import_allowed

    before = set(gymnasium.registry)
    import_allowed()
    sys.stdout.write(f"\n{MARK}{json.dumps(sorted(set(gymnasium.registry) - before))}\n")


if __name__ == "__main__":
    main()
