"""Files that workers hand over to storage are there whole, and nowhere else."""

import tempfile
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from webapp.tournaments import storage

NAME = "tournaments/7/agents/8/state-1-end.pt"


def stored() -> Path:
    return Path(default_storage.path(NAME))


@pytest.fixture(autouse=True)
def root() -> Path:
    folder = Path(default_storage.path(""))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def other_disk(root: Path) -> Path:
    """A folder on another file system than storage."""
    folder = Path("/dev/shm")
    if not folder.is_dir() or folder.stat().st_dev == root.stat().st_dev:
        pytest.skip("this machine has no second file system")
    return folder


def test_a_file_on_the_same_disk_is_taken_without_copying(root: Path) -> None:
    path = root / "made.pt"
    path.write_bytes(b"trained")
    number = path.stat().st_ino
    storage.take(path, NAME)
    assert (stored().read_bytes(), stored().stat().st_ino) == (b"trained", number)
    assert not path.exists()


def test_a_file_is_taken_from_another_disk(other_disk: Path) -> None:
    with tempfile.TemporaryDirectory(dir=other_disk) as folder:
        path = Path(folder) / "made.pt"
        path.write_bytes(b"trained elsewhere")
        storage.take(path, NAME)
        assert stored().read_bytes() == b"trained elsewhere"
        assert not list(Path(folder).iterdir())


def test_what_was_there_is_replaced(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        path = tmp_path / "made.pt"
        path.write_bytes(content)
        storage.take(path, NAME)
    assert stored().read_bytes() == b"second"
    assert [file.name for file in stored().parent.iterdir()] == [stored().name], "nothing else is left beside it"


def test_a_file_that_is_not_there_takes_nothing_away(tmp_path: Path) -> None:
    path = tmp_path / "made.pt"
    path.write_bytes(b"trained")
    storage.take(path, NAME)
    with pytest.raises(FileNotFoundError):
        storage.take(tmp_path / "missing.pt", NAME)
    assert stored().read_bytes() == b"trained"
