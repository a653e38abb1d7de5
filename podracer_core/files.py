"""Files that are either whole or not there."""

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Writes beside `path`, flushes to the disk, then renames: a reader sees the old file or the new one whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
