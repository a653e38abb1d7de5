"""A stored file as an answer: its length, a strong ETag, one range, and no more than a chunk in memory."""

import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.core.files.storage import default_storage
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header, parse_etags

from webapp.streaming import CHUNK, chunks_async


def download(
    request: HttpRequest,
    storage_name: str,
    *,
    size: int,
    sha256: str,
    filename: str,
    content_type: str = "application/octet-stream",
    attachment: bool = True,
) -> HttpResponseBase:
    """The file, a part of it (206), or only that it has not changed (304). Raises FileNotFoundError."""
    etag = f'"{sha256}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": content_disposition_header(attachment, filename) or "attachment",
    }
    if _not_modified(request, etag):
        return HttpResponseNotModified(headers=headers)
    if not default_storage.exists(storage_name):
        raise FileNotFoundError(storage_name)
    wanted = _range(request, size, etag)
    if wanted is None:
        return HttpResponse(status=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    status = 206 if wanted.stop - wanted.start < size else 200
    if status == 206:
        headers["Content-Range"] = f"bytes {wanted.start}-{wanted.stop - 1}/{size}"
    headers["Content-Length"] = str(len(wanted))
    if request.method == "HEAD":
        return HttpResponse(status=status, headers=headers, content_type=content_type)
    chunks = _chunked(request, partial(default_storage.open, storage_name, "rb"), wanted)
    return StreamingHttpResponse(chunks, status=status, headers=headers, content_type=content_type)


def download_text(
    request: HttpRequest, pieces: Iterable[str], *, filename: str, content_type: str
) -> StreamingHttpResponse:
    """A text made on the way, as a file."""
    return download_pieces(request, map(str.encode, pieces), filename=filename, content_type=content_type)


def download_pieces(
    request: HttpRequest, pieces: Iterable[bytes], *, filename: str, content_type: str
) -> StreamingHttpResponse:
    """A file made on the way. It is whole before its first byte is sent: what fails, fails with a reason."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it is sent
    try:
        for piece in pieces:
            file.write(piece)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": content_disposition_header(True, filename) or "attachment",
    }
    chunks = _chunked(request, lambda: file, range(size))
    response = StreamingHttpResponse(chunks, headers=headers, content_type=content_type)
    # A viewer may be gone before the first chunk is asked for.
    response._resource_closers.append(file.close)  # type: ignore[attr-defined]
    return response


def _chunked(request: HttpRequest, opened: Callable[[], Any], part: range) -> Iterator[bytes] | AsyncIterator[bytes]:
    return chunks_async(opened, part) if isinstance(request, ASGIRequest) else _chunks(opened, part)


def _not_modified(request: HttpRequest, etag: str) -> bool:
    known = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in known or etag in [one.removeprefix("W/") for one in known]


def _range(request: HttpRequest, size: int, etag: str) -> range | None:
    """The bytes asked for: all, unless one readable range is; None when it lies outside the file (RFC 9110, 14)."""
    asked = re.fullmatch(r"bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})", request.headers.get("Range", ""))
    if not asked or asked.groups() == ("", "") or request.headers.get("If-Range", etag) != etag:
        return range(size)
    first, last = asked.groups()
    if not first:
        part = range(max(0, size - int(last)), size)
    elif last and int(last) < int(first):
        return range(size)
    else:
        part = range(int(first), min(size, int(last) + 1) if last else size)
    return part or None


def _chunks(opened: Callable[[], Any], part: range) -> Iterator[bytes]:
    with opened() as file:
        file.seek(part.start)
        left = len(part)
        while left and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk
