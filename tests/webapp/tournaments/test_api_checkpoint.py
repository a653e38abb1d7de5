"""The download of a checkpoint: whole, in part, or not again."""

import hashlib
from random import Random
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.storage import default_storage
from django.db import connections
from django.test import AsyncClient, Client

from tests.webapp.tournaments import making
from webapp.accounts.services import api_token_create
from webapp.streaming import CHUNK
from webapp.tournaments.models import Agent

CONTENT = Random(1).randbytes(2 * CHUNK + 12_345)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ETAG = f'"{SHA256}"'


@pytest.fixture
def path(db: None) -> str:
    """The address of an agent's checkpoint."""
    making.tournament(env_id="CartPole-v1")
    claimed = making.claim()
    making.finish(claimed, files=making.stored_checkpoint(claimed, CONTENT, SHA256))
    return f"/api/agents/{claimed.agent_id}/checkpoint"


def content(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_the_whole_file_comes_with_length_hash_and_name(api: Client, path: str) -> None:
    response = api.get(path)
    assert response.status_code == 200
    assert (response["Content-Length"], response["ETag"]) == (str(len(CONTENT)), ETAG)
    assert response["Accept-Ranges"] == "bytes"
    assert response["Content-Disposition"].startswith('attachment; filename="CartPole-v1-')
    assert response["Content-Disposition"].endswith('.safetensors"')
    assert content(response) == CONTENT


def test_the_agent_says_what_the_download_will_be(api: Client, path: str) -> None:
    said = api.get(path.removesuffix("/checkpoint")).json()["checkpoint"]
    assert (said["size"], said["sha256"]) == (len(CONTENT), SHA256)
    assert said["filename"] in api.get(path)["Content-Disposition"]


def test_head_has_the_same_headers_and_no_body(api: Client, path: str) -> None:
    whole, head = api.get(path), api.head(path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("Content-Length", "ETag", "Content-Disposition", "Accept-Ranges", "Content-Type"):
        assert head[name] == whole[name]


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=10-19", slice(10, 20)),
        ("bytes=500000-", slice(500_000, None)),
        ("bytes=-7", slice(-7, None)),
        (f"bytes=100-{10**12}", slice(100, None)),
        (f"bytes={CHUNK - 1}-{CHUNK + 1}", slice(CHUNK - 1, CHUNK + 2)),
    ],
)
def test_a_range_is_that_part(api: Client, path: str, asked: str, part: slice) -> None:
    response = api.get(path, headers={"range": asked})
    expected = CONTENT[part]
    start = part.indices(len(CONTENT))[0]
    assert response.status_code == 206
    assert response["Content-Range"] == f"bytes {start}-{start + len(expected) - 1}/{len(CONTENT)}"
    assert response["Content-Length"] == str(len(expected))
    assert content(response) == expected


@pytest.mark.parametrize("asked", ["bytes=999999999-", f"bytes={len(CONTENT)}-", "bytes=-0"])
def test_a_range_outside_the_file_is_refused(api: Client, path: str, asked: str) -> None:
    response = api.get(path, headers={"range": asked})
    assert (response.status_code, response["Content-Range"]) == (416, f"bytes */{len(CONTENT)}")


@pytest.mark.parametrize("asked", ["bytes=5-2", "bytes=-", "lines=1-2", "bytes=a-b", "bytes=0-1,5-6"])
def test_a_range_that_cannot_be_read_gets_the_whole_file(api: Client, path: str, asked: str) -> None:
    assert content(api.get(path, headers={"range": asked})) == CONTENT


def test_an_interrupted_download_goes_on_only_if_the_file_is_the_same(api: Client, path: str) -> None:
    same = api.get(path, headers={"range": "bytes=10-", "if-range": ETAG})
    assert (same.status_code, content(same)) == (206, CONTENT[10:])
    for other in ('"other"', f"W/{ETAG}", "Mon, 01 Jan 2024 00:00:00 GMT"):
        changed = api.get(path, headers={"range": "bytes=10-", "if-range": other})
        assert (changed.status_code, content(changed)) == (200, CONTENT)


@pytest.mark.parametrize("known", [ETAG, f'"other", {ETAG}', f"W/{ETAG}", "*"])
def test_a_file_that_is_known_is_not_sent_again(api: Client, path: str, known: str) -> None:
    response = api.get(path, headers={"if-none-match": known})
    assert (response.status_code, response.content, response["ETag"]) == (304, b"", ETAG)


def test_another_known_file_is_sent(api: Client, path: str) -> None:
    assert content(api.get(path, headers={"if-none-match": '"other"'})) == CONTENT


def test_a_file_that_storage_has_lost_is_a_404_with_a_sentence(api: Client, path: str) -> None:
    default_storage.delete(Agent.objects.exclude(checkpoint_file="").get().checkpoint_file)
    response = api.get(path)
    assert response.status_code == 404
    assert "storage" in response.json()["errors"][0]["message"]


def test_an_agent_without_checkpoint_is_a_404_with_a_sentence(api: Client) -> None:
    making.tournament()
    response = api.get(f"/api/agents/{making.claim().agent_id}/checkpoint")
    assert response.status_code == 404
    assert "no checkpoint" in response.json()["errors"][0]["message"]


@pytest.mark.django_db(transaction=True)
async def test_over_asgi_the_file_comes_in_pieces(path: str) -> None:
    _, token = await sync_to_async(lambda: api_token_create(user=making.user(), name="async"))()
    response: Any = await AsyncClient().get(path, headers={"authorization": f"Bearer {token}"})
    pieces = [piece async for piece in response.streaming_content]
    await sync_to_async(connections.close_all)()  # the client ends no request, so the thread keeps its own
    assert b"".join(pieces) == CONTENT
    assert max(map(len, pieces)) <= CHUNK
