"""What a measurement was taken on."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import psutil


def machine() -> dict[str, Any]:
    """Cores, processor, memory, operating system and the load average at this moment."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": _system(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def commit(repository: Path) -> str:
    """Of the code measured, marked when it has been changed since; "unknown" without git."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=repository,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    """Name, model number and the vector instructions that matter: virtual machines hide the rest."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(tuple(part.strip() for part in line.split(":", 1)) for line in lines if ":" in line)
    name = facts.get("model name", platform.machine())
    model = f"family {facts.get('cpu family', '?')} model {facts.get('model', '?')}"
    vector = [flag for flag in ("avx2", "avx512f", "amx_bf16") if flag in facts.get("flags", "").split()]
    return f"{name}, {model}, {' '.join(vector) or 'no AVX2'}"


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        name = platform.system()
    return f"{name}, Linux {platform.release()}" if platform.system() == "Linux" else name
