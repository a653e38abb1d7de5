"""Files sent in pieces. An ASGI server would read a plain iterator whole, and warn, before it sends the first byte."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import FileResponse, HttpRequest
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

CHUNK = 256 * 1024


async def chunks_async(opened: Callable[[], Any], part: range) -> AsyncIterator[bytes]:
    """The bytes `part` of the file that `opened` gives, which is closed after them."""
    file = await asyncio.to_thread(opened)
    try:
        await asyncio.to_thread(file.seek, part.start)
        left = len(part)
        while left and (chunk := await asyncio.to_thread(file.read, min(CHUNK, left))):
            left -= len(chunk)
            yield chunk
    finally:
        await asyncio.to_thread(file.close)


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Static files in pieces too: WhiteNoise knows only plain iterators."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> FileResponse:
        response: FileResponse = WhiteNoiseMiddleware.serve(static_file, request)
        if isinstance(request, ASGIRequest):
            response.streaming_content = _rest(response.file_to_stream)
        return response


async def _rest(file: Any) -> AsyncIterator[bytes]:
    """What is left of a file that the response closes; nothing where there is none."""
    while file is not None and (chunk := await asyncio.to_thread(file.read, CHUNK)):
        yield chunk
