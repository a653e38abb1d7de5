"""How Chromium is started: no sandbox (tests may run as root), and nothing that looks for a network."""

from tests.conftest import CHROMIUMS, chromium_find

LAUNCH_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """The system's Chromium. Raises FileNotFoundError naming where it was looked for."""
    path = chromium_find()
    if path is None:
        raise FileNotFoundError(
            f"no Chromium: install one ({', '.join(CHROMIUMS)}) or set PODRACER_CHROMIUM to its path"
        )
    return path
