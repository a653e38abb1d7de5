"""What one viewer is owed of the batches that all share, decided without a socket."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.tournaments.test_backlog import curve, message
from webapp.tournaments.live import outbox
from webapp.tournaments.live.backlog import merged
from webapp.tournaments.live.outbox import Batch, Outbox, Over


def heard(*revisions: int) -> list[Any]:
    return [curve(revision, str(revision), 1, [revision], episodic_return=[1.0]) for revision in revisions]


def batch(revision: int, messages: list[Any], read: list[tuple[str, str]]) -> Batch:
    return Batch.made(revision, messages, merged(messages), read)


def said(texts: list[str]) -> list[dict[str, Any]]:
    return [json.loads(f'{{"seq":0,{text}') for text in texts]


def agents(texts: list[str]) -> list[int]:
    return [int(message["data"]["agent"]) for message in said(texts) if message["type"] == "curve"]


def live(revision: int) -> Outbox:
    """Of one whose snapshot was as of `revision`."""
    waiting = Outbox()
    waiting.collect()
    waiting.start(revision)
    return waiting


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(0, 30), st.data())
def test_whoever_comes_in_between_gets_each_message_after_their_snapshot_once(
    sizes: list[int], snapshot: int, data: Any
) -> None:
    waiting, revision, taken = live(snapshot), 0, []
    for size in sizes:
        waiting.offer(batch(revision + size, heard(*range(revision + 1, revision + size + 1)), []))
        revision += size
        if data.draw(st.booleans()):
            taken += agents(waiting.take())
    taken += agents(waiting.take())
    assert taken == list(range(snapshot + 1, revision + 1))


def test_a_message_ahead_of_a_gap_and_the_one_that_fills_it_each_come_once_and_no_revision_goes_back() -> None:
    waiting = live(3)
    waiting.offer(batch(2, heard(1, 2, 5), []))
    first = said(waiting.take())
    waiting.offer(batch(5, heard(3, 4), []))
    second = said(waiting.take())
    assert [(one["data"]["agent"], one["revision"]) for one in (*first, *second)] == [("5", 3), ("4", 5)]


def test_points_come_before_what_was_read_after_them() -> None:
    status = ("status", '{"status":"STOPPED"}')
    assert [one["type"] for one in said(batch(2, [*heard(1), message(2)], [status]).texts)] == ["curve", "status"]


def test_one_who_takes_nothing_keeps_little_and_needs_a_snapshot(monkeypatch: Any) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING", 10)
    waiting = live(0)
    for revision in range(1, 12):
        assert not waiting.behind
        waiting.offer(batch(revision, heard(revision), []))
    assert waiting.behind
    waiting.offer(batch(12, heard(12), []))
    assert waiting.take() == []
    waiting.collect()
    waiting.offer(batch(13, heard(13), []))
    waiting.start(12)
    assert agents(waiting.take()) == [13]


async def test_the_first_reason_to_end_counts_and_wakes() -> None:
    waiting = Outbox()
    waiting.close(Over(4403))
    waiting.close(Over(1013))
    await waiting.wait()
    assert waiting.over == Over(4403)
