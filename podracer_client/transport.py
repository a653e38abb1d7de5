"""Requests and downloads, with what Python brings."""

import hashlib
import http.client
import json
import shutil
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from podracer_client.errors import ApiError, ClientError, ConnectionLostError

TRIES = 4
FIRST_WAIT = 0.25


class Http:
    """One server. timeout: seconds for an answer to begin."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        self.url, self._token, self._timeout = url, token, timeout

    def json(self, method: str, path: str, body: bytes | None = None, content_type: str = "application/json") -> Any:
        """The answer to a request; None where it is empty. Only what changes nothing is tried again."""
        for attempt in range(TRIES if method == "GET" else 1):
            if attempt:
                time.sleep(FIRST_WAIT * 2**attempt)
            try:
                with self._open(method, path, body, {"Content-Type": content_type}) as answer:
                    data = answer.read()
                return json.loads(data) if data else None
            except (OSError, http.client.HTTPException) as error:
                lost = error
        raise self._lost(lost)

    def download(self, path: str, target: Path) -> Path:
        """A file, whole or not at all: into one that ends in .part, on from there after a break, checked, then renamed.

        target: the file, or a folder, in which it gets the name that the server gives it
        """
        folder = target.is_dir()
        part = target / f"{uuid.uuid4().hex}.part" if folder else target.with_name(f"{target.name}.part")
        part.unlink(missing_ok=True)
        tag = name = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(FIRST_WAIT * 2**attempt)
            have = part.stat().st_size if tag and part.exists() else 0
            missing = {"Range": f"bytes={have}-", "If-Range": tag} if have else {}
            try:
                with self._open("GET", path, None, missing) as answer:
                    tag = answer.headers.get("ETag") or ""
                    name = answer.headers.get_filename() or name
                    _store(answer, part)
                break
            except (OSError, http.client.HTTPException) as error:
                lost = error
        else:
            raise self._lost(lost)
        _check(part, tag)
        # Of a name with folders only its end counts: a file goes nowhere else.
        target = target / (Path(name).name or path.rstrip("/").rpartition("/")[2]) if folder else target
        part.replace(target)
        return target

    def _open(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse:
        request = urllib.request.Request(  # noqa: S310 - the address is the user's own
            f"{self.url}/api{path}",
            data=body,
            method=method,
            headers={"Authorization": f"Bearer {self._token}", **headers},
        )
        try:
            answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=self._timeout)  # noqa: S310
            return answer
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError.read(error.code, error.read()) from None

    def _lost(self, error: Exception) -> ConnectionLostError:
        reason = getattr(error, "reason", None) or error
        return ConnectionLostError(f"No Podracer answers at {self.url}: {reason}")


def _store(answer: http.client.HTTPResponse, part: Path) -> None:
    """All of an answer, behind what is there where it is the rest of it. Raises ConnectionResetError when it breaks."""
    with part.open("ab" if answer.status == 206 else "wb") as file:
        shutil.copyfileobj(answer, file)
    if answer.length:  # http.client counts down what is still to come
        raise ConnectionResetError("the answer broke off")


def _check(part: Path, tag: str) -> None:
    """A strong ETag of 64 hexadecimal digits is the SHA-256 of the file."""
    expected = tag.strip('"')
    if len(expected) == 64 and not tag.startswith("W/"):
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            part.unlink()
            raise ClientError(f"What arrived is damaged: its SHA-256 is {found}, not {expected}. Try again.")
