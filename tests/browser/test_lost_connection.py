"""A page that has lost the server says so, and no longer once it is back."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.stack import Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

LOST = "Connection lost, trying again…"
SILENCE_MS = 13_000


@pytest.fixture(scope="module")
def addresses(stack: Stack) -> Iterator[dict[str, str]]:
    """Of pages with a socket and of such that ask again and again."""
    quiet = stack.api("POST", "/tournaments", {"name": "quiet", "env_id": "CartPole-v1"})["id"]
    # Its pod waits, and leaves the machine to the pages.
    waiting = stack.tournament_start(name="waiting", env_id="CartPole-v1", pool={"size": 1}, stop={"pods": 1})
    stack.api("POST", f"/tournaments/{waiting}/pause")
    path = f"/tournaments/{waiting}/pods"
    pod = wait_for(lambda: [one for one in stack.api("GET", path)["items"] if one["status"] == "QUEUED"], 60, "a pod")[
        0
    ]
    yield {
        "tournament": f"/tournaments/{quiet}/",
        "agent": f"/agents/{pod['agent']}/",
        "list": "/",
        "workers": "/workers/",
    }
    stack.api("POST", f"/tournaments/{waiting}/stop")


@contextmanager
def frozen(stack: Stack) -> Iterator[None]:
    """The web process takes connections and answers nothing."""
    os.kill(stack.pid_of("web"), signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(stack.pid_of("web"), signal.SIGCONT)


def banner(page: Page) -> Locator:
    return page.get_by_role("alert").filter(has_text=LOST)


def opened(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.clock.install()
    sockets: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sockets.append(str(frame))))
    page.goto(address, wait_until="domcontentloaded", timeout=60_000)  # the scripts have run by then
    if address.startswith("/tournaments/"):
        wait_for(lambda: page.wait_for_timeout(20) or sockets, 15, "the socket's snapshot")
    return page


def test_a_server_that_answers_nothing_is_told_by_every_page_and_so_is_its_return(
    context: BrowserContext, stack: Stack, addresses: dict[str, str]
) -> None:
    pages = {name: opened(context, address) for name, address in addresses.items()}
    with frozen(stack):
        for page in pages.values():
            page.clock.run_for(SILENCE_MS)
            page.clock.run_for(SILENCE_MS)
        for page in pages.values():
            expect(banner(page)).to_be_visible()
    for page in pages.values():
        page.clock.run_for(SILENCE_MS)
        expect(banner(page)).to_be_hidden()


def test_the_page_of_an_agent_in_training_follows_its_steps_and_its_log(
    page: Page, stack: Stack, addresses: dict[str, str]
) -> None:
    path = f"/api{addresses['agent'].removesuffix('/')}"
    now = stack.api("GET", addresses["agent"].removesuffix("/"))
    lines = [{"at": "2026-11-30T12:00:00Z", "level": "info", "text": f"line {number}"} for number in range(3)]
    trained = {**now, "env_steps": 40_000, "total_env_steps": 90_000, "seconds": 75.0, "log": lines}
    page.goto(addresses["agent"])
    page.route(f"**{path}", lambda route: route.fulfill(json=trained))
    expect(page.get_by_text("90 k env steps")).to_be_visible()
    expect(page.get_by_text("40 k of them its own, in 1 min 15 s")).to_be_visible()
    expect(page.get_by_role("region", name="Log").locator("div")).to_have_count(3)
    expect(page.get_by_text("Nothing was logged")).to_be_hidden()


def test_a_page_that_slept_says_nothing_of_a_server_that_is_there(
    context: BrowserContext, addresses: dict[str, str]
) -> None:
    for address in (addresses["tournament"], addresses["list"]):
        page = opened(context, address)
        page.clock.fast_forward(3_600_000)
        page.clock.run_for(2_000)
        expect(banner(page)).to_be_hidden()


def test_a_network_that_is_gone_is_told_at_once(context: BrowserContext, addresses: dict[str, str]) -> None:
    pages = {name: opened(context, address) for name, address in addresses.items()}
    context.set_offline(True)
    for page in pages.values():
        expect(banner(page)).to_be_visible(timeout=2_000)
    context.set_offline(False)
    for page in pages.values():
        page.clock.run_for(1_000)
        expect(banner(page)).to_be_hidden()
