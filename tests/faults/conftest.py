"""One whole Podracer for the fault tests: whatever one test kills has to be back for the next."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import Stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home: Path = tmp_path_factory.mktemp("faults") / "home"
    with Stack(home, PODRACER_SLOTS="2") as running:
        yield running
