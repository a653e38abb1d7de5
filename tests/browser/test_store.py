"""What the page makes of the socket's messages, run by the browser's own engine."""

import copy
import json
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page

from benchmarks.viewers.store import Store

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

APPLY = """async ([snapshot, messages]) => {
  const { Store } = await import("/static/js/store.js");
  const store = new Store(snapshot);
  const changed = messages.map((message) => store.apply(message));
  return { changed, tournament: store.tournament, curves: Object.fromEntries(store.curves), events: store.events,
           pods: [...store.pods.values()] };
}"""


def pod(attempt: int = 1, status: str = "RUNNING", env_steps: int = 300) -> dict[str, Any]:
    return {
        "id": "7",
        "agent": "1",
        "agent_name": "k7f2",
        "status": status,
        "attempt": attempt,
        "env_steps": env_steps,
        "env_steps_per_second": 0,
        "episodic_return": 3.0,
    }


def curve(*steps: int) -> dict[str, Any]:
    return {
        "env_steps": list(steps),
        "seconds": [step / 100 for step in steps],
        "episodic_return": [float(step) for step in steps],
    }


def points(attempt: int, *steps: int) -> dict[str, Any]:
    return {"type": "curve", "data": {"agent": "1", "pod": "7", "attempt": attempt, "sent_at": 1.0, **curve(*steps)}}


SNAPSHOT: dict[str, Any] = {
    "tournament": {"env_steps": 300, "env_steps_per_second": 0, "best_agent": None, "sparkline": [], "pods": {}},
    "leaderboard": {"items": []},
    "pods": {"items": [pod()]},
    "events": {"items": [{"id": "1", "text": "started"}]},
    "curves": {"1": curve(100, 200, 300)},
}


@pytest.fixture
def apply(page: Page) -> Any:
    page.goto("/")
    return lambda *messages: page.evaluate(APPLY, [SNAPSHOT, list(messages)])


def test_new_points_are_appended_once(apply: Any) -> None:
    state = apply(points(1, 300, 400), points(1, 400, 500))
    assert state["curves"]["1"]["env_steps"] == [100, 200, 300, 400, 500]
    assert state["pods"][0]["env_steps"] == 500


def test_steps_and_rate_of_the_tournament_follow_from_the_points(apply: Any) -> None:
    state = apply(points(1, 400, 700))
    assert state["tournament"]["env_steps"] == 700
    assert state["tournament"]["env_steps_per_second"] == pytest.approx(100)


def test_a_retry_voids_the_points_beyond_its_saved_state(apply: Any) -> None:
    state = apply({"type": "pod", "data": pod(attempt=2, env_steps=200)}, points(2, 250))
    assert state["curves"]["1"]["env_steps"] == [100, 200, 250]


def test_points_of_a_retry_that_come_before_its_pod_void_as_well(apply: Any) -> None:
    state = apply(points(2, 150))
    assert state["curves"]["1"]["env_steps"] == [100, 150]


def test_late_points_of_a_lost_attempt_count_up_to_its_saved_state(apply: Any) -> None:
    late, cut = points(1, 350, 400), points(1)
    cut["data"]["kept_env_steps"] = 350
    state = apply({"type": "pod", "data": pod(attempt=2, env_steps=350)}, points(2, 390, 450), late, cut)
    assert state["curves"]["1"]["env_steps"] == [100, 200, 300, 350, 390, 450]
    assert state["pods"][0]["attempt"] == 2


def test_events_stand_in_their_order_whichever_came_first(apply: Any) -> None:
    later, earlier = ({"type": "event", "data": {"id": number, "text": "stopped"}} for number in ("11", "9"))
    assert [item["id"] for item in apply(later, earlier)["events"]] == ["11", "9", "1"]


def test_an_event_that_comes_twice_is_told_once(apply: Any) -> None:
    event = {"type": "event", "data": {"id": "2", "text": "k7f2 takes 1st"}}
    assert [item["id"] for item in apply(event, event)["events"]] == ["2", "1"]


def test_a_new_champion_shows_in_the_head_at_once(apply: Any) -> None:
    item = {"agent": "1", "name": "k7f2", "score": 9.0, "score_low": 8.0, "score_high": 10.0, "rank": 1}
    state = apply({"type": "leaderboard", "data": {"items": [item], "count": 1}})
    assert (state["tournament"]["best_agent_name"], state["tournament"]["sparkline"]) == ("k7f2", [9.0])


def test_pods_are_counted_by_their_state(apply: Any) -> None:
    state = apply({"type": "pod", "data": pod(status="FINISHED")})
    assert state["tournament"]["pods"] == {"QUEUED": 0, "RUNNING": 0, "FINISHED": 1, "FAILED": 0, "STOPPED": 0}


def messages(random: Random, count: int) -> list[dict[str, Any]]:
    """A pod that reports, is lost, goes back to its saved state and goes on, among others that come and end."""
    attempt, env_steps, said = 1, 300, []
    for number in range(count):
        match random.choice(["points", "points", "points", "late", "lost", "pod", "event", "board"]):
            case "late":
                steps = sorted(random.sample(range(1, env_steps + 1), 2))
                said.append(points(max(1, attempt - 1), *steps))
                if random.random() < 0.5:
                    said[-1]["data"]["kept_env_steps"] = random.randint(1, env_steps)
            case "points":
                steps = [env_steps := env_steps + random.randint(1, 90) for _ in range(random.randint(0, 3))]
                said.append(points(attempt, *steps))
            case "lost":
                kept, attempt = env_steps - random.randint(0, 200), attempt + random.randint(0, 1)
                said.append(points(attempt))
                said[-1]["data"]["kept_env_steps"] = env_steps = max(0, kept)
            case "pod":
                said.append({"type": "pod", "data": pod(attempt, random.choice(["RUNNING", "QUEUED"]), env_steps)})
            case "event":
                said.append({"type": "event", "data": {"id": str(random.randint(1, 9)), "text": "happened"}})
            case "board":
                item = {"agent": str(number), "name": "a", "score": number, "score_low": 0, "score_high": 9, "rank": 1}
                said.append({"type": "leaderboard", "data": {"items": [item], "count": 1}})
    return said


def test_the_twin_of_the_store_that_benchmarks_use_knows_the_same(page: Page) -> None:
    page.goto("/")
    for seed in range(20):
        said = messages(Random(seed), 60)
        twin = Store()
        twin.apply("snapshot", copy.deepcopy(SNAPSHOT))
        for message in copy.deepcopy(said):
            twin.apply(message["type"], message["data"])
        found = page.evaluate(APPLY, [SNAPSHOT, said])
        expected = {**vars(twin), "pods": [*twin.pods.values()]}
        for part in ("tournament", "curves", "events", "pods"):
            assert json.loads(json.dumps(expected[part])) == found[part], f"seed {seed}"
