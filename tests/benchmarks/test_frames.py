"""Frames are read once for all viewers, and each viewer reads in them what JSON says."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.viewers.frames import Frames

TEXTS = st.text() | st.sampled_from(['{"seq":1,', "]", '"}', '\\{"seq":'])
DATA = st.fixed_dictionaries({"name": TEXTS, "seconds": st.lists(st.floats(0, 1e6), max_size=3)})
KINDS = st.sampled_from(["curve", "pod", "event"])


def frame(first: int, said: list[tuple[str, dict[str, Any]]]) -> str:
    messages = [
        {"seq": seq, "revision": 7, "type": kind, "data": data} for seq, (kind, data) in enumerate(said, start=first)
    ]
    return json.dumps(messages, separators=(",", ":"), ensure_ascii=False)


@given(
    st.lists(st.tuples(KINDS, DATA), min_size=1, max_size=4), st.lists(st.integers(0, 10**9), min_size=1, max_size=3)
)
def test_each_viewer_reads_what_the_frame_says_with_its_own_numbers(
    said: list[tuple[str, dict[str, Any]]], firsts: list[int]
) -> None:
    frames = Frames()
    for first in firsts:
        found = frames.read(frame(first, said))
        assert [number for number, _ in found] == list(range(first, first + len(said)))
        for (_, message), (kind, data) in zip(found, said, strict=True):
            ages = [round(1000 * (data["seconds"][-1] - one)) for one in data["seconds"]]
            expected = {**data, "ages": ages} if kind == "curve" else data
            assert message == {"revision": 7, "type": kind, "data": expected}


def test_what_a_viewer_changes_is_its_own() -> None:
    frames, text = Frames(), frame(0, [("pod", {"env_steps": 1})])
    ((_, message),) = frames.read(text)
    message["data"]["env_steps"] = 2
    ((_, other),) = frames.read(text)
    assert other["data"] == {"env_steps": 1}
