"""The documentation builds without a warning: no dead link, no page left out, no directive that fails."""

import subprocess
import sys
from pathlib import Path

from tests.stack import REPOSITORY


def test_the_site_builds_and_its_reference_names_what_the_models_have(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "max_per_ancestor" in (tmp_path / "reference/specification.html").read_text()
    assert "gae_lambda" in (tmp_path / "reference/hyperparameters.html").read_text()
    assert "download_checkpoint" in (tmp_path / "reference/client.html").read_text()
