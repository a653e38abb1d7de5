"""Viewers of a real tournament, one of whom reads nothing for a while: benchmarks.viewers, small."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.viewers.comparison import state_in_database
from benchmarks.viewers.crowd import Crowd, session_cookie
from tests.browser.conftest import sign_in_link
from tests.stack import Stack

pytestmark = pytest.mark.timeout(180)

SPEC: dict[str, Any] = {"env_id": "CartPole-v1", "round": {"env_steps": 20_000}, "stop": {"pods": 4}}


async def test_all_end_with_the_database_s_state_also_one_who_stalled(stack: Stack, tmp_path: Path) -> None:
    cookie = session_cookie(await asyncio.to_thread(sign_in_link, stack))
    identity = await asyncio.to_thread(lambda: stack.tournament_start(**SPEC))
    crowd = Crowd(stack.url, f"/ws/tournaments/{identity}/", [cookie] * 6)
    try:
        await crowd.obey({"order": "watch"})
        await crowd.obey({"order": "measure", "stall": 2.0})
        await asyncio.to_thread(stack.wait_for_status, identity, "FINISHED")
        expected = await asyncio.to_thread(state_in_database, stack, identity)
        path = tmp_path / "expected.json"
        path.write_text(json.dumps(expected))
        revision = expected["tournament"]["revision"]
        found = await crowd.obey({"order": "compare", "expected": str(path), "revision": revision, "seconds": 20})
        assert found["wrong"] == {}
        heard = await crowd.obey({"order": "report"})
        assert sum(heard["delays"]) > 0
    finally:
        await crowd.close()
