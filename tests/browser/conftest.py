"""A whole Podracer, shared by most modules, and a real Chromium, shared by the tests of a module.

Playwright's loop runs in the thread of the tests while it is there, so it must not outlive the module: Django
would refuse that thread its database.
"""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.browser.chromium import LAUNCH_ARGUMENTS
from tests.stack import REPOSITORY, Stack, wait_for

WAIT_MS = 15_000


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The shared one; a module with OWN_STACK = True changes what others rely on."""
    if not getattr(request.module, "OWN_STACK", False):
        yield request.getfixturevalue("shared_stack")
        return
    with Stack(tmp_path_factory.mktemp("browser") / "home", PODRACER_SLOTS="2") as running:
        yield running


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=LAUNCH_ARGUMENTS)
        yield running
        running.close()


def sign_in_link(stack: Stack) -> str:
    """A fresh one-time link."""
    command = [sys.executable, "manage.py", "sign_in_link"]
    printed = subprocess.check_output(command, cwd=REPOSITORY, env=stack.environment, timeout=60)
    return printed.decode().strip().splitlines()[-1]


def until(page: Page, expression: str, seconds: float = 15.0) -> None:
    """Wait for an expression to hold in the page. (Playwright's own wait evaluates text, which our pages refuse.)"""
    wait_for(lambda: page.evaluate(expression), seconds, expression)


@pytest.fixture(scope="module")
def cookies(stack: Stack, browser: Browser) -> list[dict[str, object]]:
    """The session of somebody who signed in."""
    context = browser.new_context()
    context.new_page().goto(sign_in_link(stack))
    found = [dict(cookie) for cookie in context.cookies()]
    context.close()
    return found


@pytest.fixture
def context(browser: Browser, stack: Stack, cookies: list[dict[str, object]]) -> Iterator[BrowserContext]:
    made = browser.new_context(base_url=stack.url, viewport={"width": 1440, "height": 1000})
    made.set_default_timeout(WAIT_MS)
    made.add_cookies(cookies)  # type: ignore[arg-type]
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page of somebody signed in; fails the test where a script failed or the browser refused to load something."""
    problems: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and "WebSocket" not in message.text and "Failed to load" not in message.text:
            problems.append(message.text)

    opened = context.new_page()
    opened.on("console", listen)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    assert problems == []
