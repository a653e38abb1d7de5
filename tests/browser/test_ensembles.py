"""An ensemble from the tournament's page to its own: asked for, made while somebody looks, downloaded, played."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from podracer_core import load_agent
from podracer_core.playing import play_episodes
from tests.browser.conftest import until
from tests.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

MADE_MS = 60_000


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("ensembles") / "home", PODRACER_SLOTS="1") as running:
        yield running


@pytest.fixture(scope="module")
def finished(stack: Stack) -> str:
    """The id of a tournament with three agents, which ends with an ensemble of two."""
    identity = stack.tournament_start(
        name="several",
        env_id="CartPole-v1",
        pool={"size": 1},
        round={"env_steps": 1000},
        leaderboard={"eval_episodes": 4, "max_per_ancestor": 1, "ensemble": 2},
        stop={"pods": 3},
    )
    stack.wait_for_status(identity, "FINISHED")
    return identity


def test_an_ensemble_is_asked_for_appears_by_itself_and_plays(
    page: Page, stack: Stack, finished: str, tmp_path: Path
) -> None:
    page.goto(f"/tournaments/{finished}/")
    board = page.get_by_role("table", name="Leaderboard")
    expect(board.get_by_role("link", name="ens-1")).to_be_visible(timeout=MADE_MS)  # which the specification asks for
    page.evaluate("window.notReloaded = true")
    size = page.get_by_label("Agents of the ensemble")
    assert size.locator("option").all_text_contents() == ["2", "3"]
    size.select_option("2")
    page.get_by_role("button", name="Make an ensemble").click()
    expect(page.get_by_text("ens-1 is of these agents already.")).to_be_visible()
    size.select_option("3")
    page.get_by_role("button", name="Make an ensemble").click()
    row = board.get_by_role("row").filter(has=page.get_by_role("link", name="ens-2"))
    expect(row).to_be_visible(timeout=MADE_MS)
    expect(row.locator(".tag")).to_have_text("ensemble")
    assert page.evaluate("window.notReloaded") is True
    ranked = board.locator("td.rank").all_text_contents()
    assert [text[0] for text in ranked if text != "–"] == ["1", "2", "3"]
    assert ranked.count("–") == 2
    until(page, "document.querySelectorAll('[data-making] li').length === 0")
    page.set_viewport_size({"width": 360, "height": 780})
    until(page, "document.documentElement.scrollWidth === 360")

    page.get_by_role("link", name="ens-2").first.click()
    expect(page.get_by_role("status", name="Ensemble status")).to_have_text("FINISHED")
    assert page.get_by_role("table", name="Members").get_by_role("link").count() == 3
    assert page.locator("[data-returns] circle").count() == 8
    until(page, "document.documentElement.scrollWidth === 360")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download checkpoint").click()
    agent = load_agent(download.value.path())
    items = stack.api("GET", f"/tournaments/{finished}/leaderboard")["items"]
    (item,) = [item for item in items if item["name"] == "ens-2"]
    assert agent.metadata["score"]["score"] == item["score"]
    assert play_episodes(agent, 1, seed=1)[0].length > 0
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="several")).to_be_visible()
    expect(board.get_by_role("link", name="ens-1")).to_be_visible()
    expect(board.get_by_role("link", name="ens-2")).to_have_count(0)


FAILED = """async ([items, making]) => {
  const { Ensembles } = await import("/static/js/ensembles.js");
  const [form, list] = [document.createElement("form"), document.createElement("ul")];
  form.dataset.most = "64";
  form.append(document.createElement("select"), document.createElement("button"));
  new Ensembles(form, list, "/api/tournaments/1").render({ ranked: items, making });
  return [form.hidden, list.textContent, list.querySelectorAll("button").length];
}"""


def test_one_that_failed_shows_its_reason_and_a_lone_agent_offers_none(page: Page) -> None:
    page.goto("/")
    failed = {"agent": "5", "name": "ens-1", "status": "FAILED", "reason": "No Hopper.", "members": [{"name": "k7f2"}]}
    hidden, text, buttons = page.evaluate(FAILED, [[{}], [failed]])
    assert (hidden, buttons) == (True, 2)
    assert text == "ens-1of k7f2Try againRemoveNo Hopper."
    waiting = page.evaluate(FAILED, [[{}, {}], [{**failed, "status": "QUEUED", "reason": ""}]])
    assert waiting == [False, "ens-1of k7f2Waiting for a worker", 0]
