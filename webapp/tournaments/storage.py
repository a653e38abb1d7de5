"""Files of agents in the configured storage: a folder or an object store. Names are relative to its root.

A file is whole or not there: in a folder it is written beside its place, synced and renamed; an object store
does the same by itself.
"""

import errno
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from django.core.files.storage import FileSystemStorage, default_storage
from django.db import transaction

CHUNK = 1024 * 1024


def folder(tournament_id: int) -> str:
    """Where all of a tournament's files are."""
    return f"tournaments/{tournament_id}"


def agent_folder(tournament_id: int, agent_id: int) -> str:
    """Where all of an agent's files are."""
    return f"{folder(tournament_id)}/agents/{agent_id}"


def agent_file(tournament_id: int, agent_id: int, name: str) -> str:
    """The storage name of an agent's file `name`."""
    return f"{agent_folder(tournament_id, agent_id)}/{name}"


def store(path: Path, name: str) -> str:
    """As `put`. Returns the file's SHA-256."""
    digest = file_sha256(path)
    put(path, name)
    return digest


def put(path: Path, name: str) -> None:
    """Put the local file `path` into storage under `name`, in place of what was there."""
    if isinstance(default_storage, FileSystemStorage):
        _put_in_folder(path, Path(default_storage.path(name)))
        return
    with path.open("rb") as source:
        if default_storage.exists(name):
            default_storage.delete(name)
        default_storage.save(name, source)


def take(path: Path, name: str) -> None:
    """As `put`, but the local file is gone afterwards: a folder on the same disk takes it without copying."""
    if not isinstance(default_storage, FileSystemStorage) or not _moved(path, Path(default_storage.path(name))):
        put(path, name)
        path.unlink()


def _moved(source: Path, target: Path) -> bool:
    """Whether it could be: not to another disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    _sync(target)
    _sync(target.parent)
    return True


def fetch(name: str, path: Path) -> Path:
    """Bring the stored file `name` to the local `path`; a folder's file is used where it is."""
    if isinstance(default_storage, FileSystemStorage):
        return Path(default_storage.path(name))
    with default_storage.open(name, "rb") as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, CHUNK)
    return path


def exists(name: str) -> bool:
    """Whether there is a stored file `name`."""
    return bool(name) and default_storage.exists(name)


def delete(name: str) -> None:
    """Remove a stored file; one that is gone already is fine."""
    if name:
        default_storage.delete(name)


def delete_on_commit(name: str) -> None:
    """Remove a stored file once no row refers to it any more. One that cannot be is logged, and keeps back no other."""
    if name:
        transaction.on_commit(lambda: delete(name), robust=True)


def delete_folder(name: str) -> None:
    """Remove everything below the storage folder `name`."""
    if isinstance(default_storage, FileSystemStorage):
        shutil.rmtree(default_storage.path(name), ignore_errors=True)
        return
    try:
        folders, files = default_storage.listdir(name)
    except FileNotFoundError:
        return
    for file in files:
        default_storage.delete(f"{name}/{file}")
    for child in folders:
        delete_folder(f"{name}/{child}")


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _put_in_folder(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".incoming-")
    try:
        with os.fdopen(descriptor, "wb") as out, source.open("rb") as data:
            shutil.copyfileobj(data, out, CHUNK)
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk: a rename is only there once its folder is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
