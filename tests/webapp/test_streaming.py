"""Static files over ASGI: in pieces, with WhiteNoise's own headers."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import AsyncClient

from webapp.streaming import CHUNK

PATH = "vendor/plotly.min.js"


async def content_of(response: Any) -> list[bytes]:
    assert response.is_async
    pieces = [piece async for piece in response]
    response.close()
    return pieces


async def test_a_file_comes_in_pieces() -> None:
    found = finders.find(PATH)
    assert isinstance(found, str)
    content = Path(found).read_bytes()
    response: Any = await AsyncClient().get(f"/static/{PATH}")
    pieces = await content_of(response)
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= CHUNK
    assert response["Content-Length"] == str(len(content))


@pytest.mark.parametrize(
    ("headers", "status", "length"), [({"range": "bytes=10-19"}, 206, 10), ({"range": f"bytes={10**9}-"}, 416, 0)]
)
async def test_a_part_of_it_is_that_part(headers: dict[str, str], status: int, length: int) -> None:
    response: Any = await AsyncClient().get(f"/static/{PATH}", headers=headers)
    assert response.status_code == status
    assert len(b"".join(await content_of(response))) == length
