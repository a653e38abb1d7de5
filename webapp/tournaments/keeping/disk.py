"""How full the disk is that stored files are on. An object store has none."""

import shutil
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.core.files.storage import FileSystemStorage, default_storage

LOW_SHARE, LOW_BYTES = 0.1, 2 * 1024**3
"""Less than either of these free is too little: a training state may have hundreds of megabytes."""

LATELY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Disk:
    """In bytes. free: what an ordinary user may still write"""

    total: int
    free: int

    @property
    def low(self) -> bool:
        return self.free < max(LOW_SHARE * self.total, LOW_BYTES)

    @property
    def used(self) -> int:
        return self.total - self.free


def disk_lately() -> Disk | None:
    """The disk as it was within the last minute, since every page asks; None where files are not in a folder."""
    if not isinstance(default_storage, FileSystemStorage):
        return None
    return _measured(str(default_storage.location), int(time.monotonic() // LATELY_SECONDS))


@lru_cache(maxsize=1)
def _measured(location: str, minute: int) -> Disk:
    folder = Path(location)
    # The folder is made with the first file.
    while not folder.exists():
        folder = folder.parent
    found = shutil.disk_usage(folder)
    return Disk(found.total, found.free)
