"""Two people and a stranger: invited, looking without buttons, by a link that closes live."""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import WAIT_MS, until
from tests.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

BUTTONS = ["Start", "Pause", "Resume", "Stop", "Share", "Rename", "Delete", "One pod more"]


@pytest.fixture(scope="module")
def tournament(stack: Stack) -> str:
    spec = {"name": "quick one", "env_id": "CartPole-v1", "round": {"env_steps": 5000}, "stop": {"pods": 1}}
    identity = stack.tournament_start(**spec)
    stack.wait_for_status(identity, "FINISHED")
    return identity


def opened(browser: Browser, stack: Stack) -> tuple[BrowserContext, Page]:
    """A browser of somebody else, whose scripts must not fail."""
    context = browser.new_context(base_url=stack.url, viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    return context, page


def only_looks(page: Page) -> None:
    """The page is live and drawn, and has nothing to press."""
    expect(page.get_by_role("table", name="Leaderboard").get_by_role("row")).to_have_count(2)
    until(page, "document.querySelector('[data-best]').textContent !== '–'")
    for name in BUTTONS:
        expect(page.get_by_role("button", name=name, exact=True, include_hidden=True)).to_have_count(0)


def test_somebody_invited_as_viewer_sees_what_is_shared_and_no_buttons(
    page: Page, browser: Browser, stack: Stack, tournament: str
) -> None:
    page.goto("/people/")
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Role", exact=True).select_option("viewer")
    page.get_by_role("button", name="Invite").click()
    link = page.get_by_label("The sign-in link").locator("code").text_content()
    assert link
    context, guest = opened(browser, stack)
    guest.goto(link)
    expect(guest.get_by_role("heading", name="Nothing is shared with you yet")).to_be_visible()
    page.goto(f"/tournaments/{tournament}/")
    page.get_by_role("button", name="Share").click()
    page.get_by_label("Everybody who is signed in").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog", name="Share quick one")).to_be_hidden()
    guest.reload()
    guest.get_by_role("link", name="quick one").click()
    only_looks(guest)
    guest.set_viewport_size({"width": 360, "height": 780})
    until(guest, "document.documentElement.scrollWidth === 360")

    page.goto("/people/")
    page.get_by_role("link", name="vera").click()
    page.get_by_role("button", name="Close account").click()
    page.get_by_role("button", name="Close it").click()
    expect(guest.get_by_role("alert").filter(has_text="You are signed out")).to_be_visible()
    context.close()


def test_a_share_link_opens_for_strangers_and_closes_live(
    page: Page, browser: Browser, stack: Stack, tournament: str
) -> None:
    page.goto(f"/tournaments/{tournament}/")
    page.get_by_role("button", name="Share").click()
    page.get_by_label("For whom").fill("the reviewers")
    page.get_by_role("button", name="Create link").click()
    url = page.locator("[data-new-link] code")
    expect(url).to_have_text(re.compile("/shared/"))
    context, guest = opened(browser, stack)
    guest.goto(url.text_content() or "")
    only_looks(guest)
    champion = guest.get_by_role("table", name="Leaderboard").get_by_role("link").first
    champion.click()
    expect(guest).to_have_url(re.compile(r"/shared/[^/]+/agents/\d+/$"))
    with guest.expect_download():
        guest.get_by_role("link", name="Download checkpoint").click()
    expect(guest.get_by_role("button", name="Make ONNX")).to_have_count(0)
    guest.get_by_role("link", name="quick one").click()
    only_looks(guest)
    stack.api("PATCH", f"/tournaments/{tournament}", {"name": "seen live"})
    expect(guest.get_by_role("heading", level=1)).to_have_text("seen live")
    page.get_by_role("button", name="Revoke the link for the reviewers").click()
    expect(guest.get_by_role("alert").filter(has_text="not shared with you any more")).to_be_visible()
    guest.reload()
    expect(guest.get_by_text("This link does not work")).to_be_visible()
    stack.api("PATCH", f"/tournaments/{tournament}", {"name": "quick one"})
    context.close()
