"""Notifications: a webhook made and tested on its page, and the browser's own, shown by one of its pages."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import until
from tests.stack import REPOSITORY, Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

NOTIFICATION = """
window.Notification = class extends EventTarget {
  static permission = "granted";
  constructor(title, { body }) {
    super();
    localStorage.shown = JSON.stringify([...JSON.parse(localStorage.shown ?? "[]"), `${title}: ${body}`]);
    window.newest = this;
  }
  close() {}
};
"""
"""What a browser without a desktop has in its stead; all pages write to one list."""

SHOWN = "JSON.parse(localStorage.shown ?? '[]')"
ASKED = "Object.keys(localStorage).some((key) => key.endsWith('.last') && localStorage[key] !== 'null')"

FULL_DISK = """
import shutil, types
shutil.disk_usage = lambda folder: types.SimpleNamespace(total=100 * 10**9, free=4 * 10**9)
from webapp.tournaments.notices.troubles import disk_look
disk_look()
"""
"""What the scheduler does once the disk is so full."""


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[bytes]]]:
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook", got
        server.shutdown()
        thread.join()


def test_a_webhook_is_made_tested_and_told(page: Page, stack: Stack, receiver: tuple[str, list[bytes]]) -> None:
    url, got = receiver
    page.goto("/notifications/")
    page.get_by_label("Name", exact=True).fill("team chat")
    page.get_by_label("Address").fill(url)
    page.get_by_role("button", name="Create webhook").click()
    expect(page.get_by_role("region", name="The secret of the new webhook")).to_be_visible()
    page.get_by_role("button", name="Send a test to team chat").click()
    row = page.get_by_role("table", name="Webhooks").get_by_role("row").last
    expect(row).to_contain_text("arrived")
    expect(row).to_contain_text("200 OK")
    identity = stack.api("POST", "/tournaments", {"name": "a draft", "env_id": "CartPole-v1"})["id"]
    stack.api("POST", f"/tournaments/{identity}/stop")
    wait_for(lambda: len(got) == 2, 15, "the end of the tournament arriving")
    assert b"a draft was stopped" in got[1]
    page.reload()
    expect(page.get_by_role("link", name="a draft was stopped. Stopped by hand.")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 780})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.get_by_role("button", name="Delete team chat").click()
    expect(page.get_by_text("None. One tells a chat")).to_be_visible()


def test_one_page_of_the_browser_shows_what_its_bell_asks_for(
    context: BrowserContext, page: Page, stack: Stack
) -> None:
    context.add_init_script(NOTIFICATION)
    spec = {"env_id": "CartPole-v1"}
    watched, other = (stack.api("POST", "/tournaments", {"name": name, **spec})["id"] for name in ("heard", "unheard"))
    page.goto(f"/tournaments/{watched}/")
    bell = page.get_by_role("button", name="Notify me here when it ends")
    expect(bell).to_have_attribute("aria-pressed", "false")
    bell.click()
    expect(bell).to_have_attribute("aria-pressed", "true")
    until(page, ASKED)
    second = context.new_page()
    second.goto("/")
    for identity in (other, watched):
        stack.api("POST", f"/tournaments/{identity}/stop")
    # The one that asks is left, so the other takes over.
    page.goto("/notifications/")
    until(page, f"{SHOWN}.length > 0")
    until(page, 'Object.values(localStorage).every((value) => !value.includes(\'"bells":{"\'))')
    mine = page.get_by_label("My tournaments")
    mine.check()
    for one in (second, page):
        one.reload()
    expect(mine).to_be_checked()
    until(page, ASKED)
    assert page.evaluate(SHOWN) == ["heard has ended: heard was stopped. Stopped by hand."]
    mine.uncheck()
    assert page.evaluate(SHOWN) == ["heard has ended: heard was stopped. Stopped by hand."]


def test_a_disk_that_is_nearly_full_is_shown_to_an_admin_and_leads_to_what_takes_the_space(
    context: BrowserContext, page: Page, stack: Stack
) -> None:
    context.add_init_script(NOTIFICATION)
    page.goto("/notifications/")
    page.get_by_label("My tournaments").check()
    until(page, ASKED)
    command = [sys.executable, "manage.py", "shell", "--command", FULL_DISK]
    subprocess.run(command, cwd=REPOSITORY, env=stack.environment, check=True, timeout=60)
    page.reload()
    until(page, f"{SHOWN}.length > 0")
    (shown,) = page.evaluate(SHOWN)
    assert shown.startswith("Storage is nearly full: The storage's disk is nearly full: 4.0 GB of 100.0 GB are free.")
    page.evaluate("newest.dispatchEvent(new Event('click'))")
    expect(page.get_by_role("heading", name="Storage", exact=True)).to_be_visible()
