"""The workers' page, on a worker that really trains."""

import pytest
from playwright.sync_api import Page, expect

from tests.stack import Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
OWN_STACK = True

SOON = 20_000


def test_a_worker_is_drained_at_once_and_takes_its_pods_up_again_where_they_were(page: Page, stack: Stack) -> None:
    tournament = stack.tournament_start(
        name="long one", env_id="CartPole-v1", round={"env_steps": 50_000_000}, pool={"size": 2}, stop={"pods": 100}
    )

    def pods(status: str, beyond: int = 0) -> list[dict[str, int]]:
        items = stack.api("GET", f"/tournaments/{tournament}/pods")["items"]
        return [pod for pod in items if pod["status"] == status and pod["env_steps"] > beyond]

    page.goto("/")
    page.get_by_role("banner").get_by_role("link", name="slots").click()
    expect(page.get_by_role("heading", name="Workers", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="long one")).to_have_count(2, timeout=SOON)
    wait_for(lambda: len(pods("RUNNING", 2_000)) == 2, 60, "both pods training")
    state = page.get_by_role("status", name="State of ")
    expect(state).to_have_text("online")

    page.get_by_role("button", name="Drain", exact=False).filter(has_text="now").click()
    expect(state).to_have_text("drained", timeout=SOON)
    expect(page.get_by_text("closed")).to_have_count(2)
    saved = pods("QUEUED")
    assert [pod["losses"] for pod in saved] == [0, 0]
    assert min(pod["env_steps"] for pod in saved) > 0, "their states are saved"
    assert stack.api("GET", "/workers")["cpu"] == 0

    resume = page.get_by_role("button", name="Resume ")
    resume.focus()
    page.keyboard.press("Enter")
    expect(state).to_have_text("online", timeout=SOON)
    furthest = max(pod["env_steps"] for pod in saved)
    wait_for(lambda: len(pods("RUNNING", furthest)) == 2, 60, "both pods beyond where they were")
    expect(page.get_by_role("progressbar", name="Round of ")).to_have_count(2, timeout=SOON)
    stack.api("POST", f"/tournaments/{tournament}/stop")
    expect(page.get_by_text("free", exact=True)).to_have_count(2, timeout=SOON)
