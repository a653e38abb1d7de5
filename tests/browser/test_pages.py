"""The pages in a real browser: what can be pressed, what is seen on a phone, what happens when the server goes."""

import os
import re
import signal
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from podracer_core import load_agent
from podracer_core.playing import play_episodes
from tests.browser.conftest import WAIT_MS, until
from tests.stack import Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
OWN_STACK = True


BEST = "JSON.parse(document.getElementById('snapshot').textContent).tournament.best_agent"


@pytest.fixture(scope="module")
def finished(stack: Stack) -> str:
    """The id of a tournament with a champion."""
    space = {"learning_rate": {"loguniform": [1e-4, 1e-2]}}
    identity = stack.tournament_start(
        name="quick one",
        env_id="CartPole-v1",
        algorithms=[{"name": "ppo", "search_space": space}],
        round={"env_steps": 5000},
        stop={"pods": 3},
    )
    stack.wait_for_status(identity, "FINISHED")
    return identity


def draft(stack: Stack, name: str = "a draft", **spec: object) -> str:
    return str(stack.api("POST", "/tournaments", {"name": name, "env_id": "CartPole-v1", **spec})["id"])


def paths(stack: Stack, identity: str) -> list[str]:
    champion = stack.api("GET", f"/tournaments/{identity}/leaderboard")["items"][0]["agent"]
    return [
        "/",
        "/tournaments/new/",
        f"/tournaments/{identity}/",
        f"/tournaments/{identity}/report/",
        f"/agents/{champion}/",
        f"/compare/?t={identity}&a={champion}",
        "/compare/",
        "/workers/",
        "/storage/",
        "/notifications/",
        "/tokens/",
        "/nowhere",
    ]


def test_nothing_scrolls_sideways_on_a_phone(page: Page, stack: Stack, finished: str) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    for path in [*paths(stack, finished), f"/tournaments/{draft(stack, 'x' * 120)}/"]:
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path


BROKEN = """[...document.querySelectorAll(".report th")].flatMap(({ firstChild: text }) =>
  [...text.textContent.matchAll(/\\S+/g)].filter((word) => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return range.getClientRects().length > 1;
  }).map(String))"""


def test_no_word_in_a_head_of_the_report_is_broken_on_a_phone(page: Page, finished: str) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto(f"/tournaments/{finished}/report/")
    expect(page.get_by_role("rowheader", name="learning_rate").first).to_be_visible()
    assert page.evaluate(BROKEN) == []


def test_tables_stay_within_their_cards_and_names_on_one_line(page: Page, finished: str) -> None:
    page.goto(f"/tournaments/{finished}/")
    expect(page.get_by_role("table", name="Leaderboard").locator("tbody tr")).not_to_have_count(0)
    beyond = page.evaluate(
        "[...document.querySelectorAll('.card table')].map((table) => table.caption?.textContent + ' is '"
        " + (table.getBoundingClientRect().right - table.closest('.card').getBoundingClientRect().right))"
        ".filter((text) => Number(text.split(' is ')[1]) > 0)"
    )
    assert beyond == []
    heights = "[...document.querySelectorAll('td .name, .pods td a')].map((name) => name.getClientRects().length)"
    assert set(page.evaluate(heights)) == {1}


def test_training_states_are_removed_and_the_tournament_is_archived_from_its_menu(
    page: Page, stack: Stack, finished: str
) -> None:
    page.goto(f"/tournaments/{finished}/")
    more = page.get_by_label("More actions")
    more.click()
    page.get_by_role("button", name="Free space…").click()
    dialog = page.get_by_role("dialog", name="Free space")
    expect(dialog.get_by_role("button", name="Remove…")).to_be_disabled()
    dialog.get_by_role("checkbox", name=re.compile("training state")).check()
    expect(dialog.get_by_role("status")).to_contain_text("Frees")
    dialog.get_by_role("button", name="Remove…").click()
    dialog.get_by_role("button", name="Remove for good").click()
    expect(page.get_by_text(re.compile(r"^Removed \d+ training states? of quick one"))).to_be_visible()
    more.click()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.get_by_text("archived", exact=True)).to_be_visible()
    page.goto("/")
    page.get_by_role("link", name="Archived").click()
    expect(page.get_by_role("link", name="quick one")).to_be_visible()
    stack.api("PATCH", f"/tournaments/{finished}", {"archived": False})


def test_on_a_phone_the_board_comes_before_the_curves(page: Page, finished: str) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto(f"/tournaments/{finished}/")
    board = page.get_by_role("table", name="Leaderboard").bounding_box()
    curves = page.get_by_role("figure", name="Learning curves").bounding_box()
    pods = page.get_by_role("table", name="Pods").bounding_box()
    assert board
    assert curves
    assert pods
    assert board["y"] < curves["y"] < pods["y"]


def test_the_sign_in_page_is_all_that_strangers_see(browser: Browser, stack: Stack) -> None:
    page = browser.new_page(base_url=stack.url)
    page.goto("/tournaments/new/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").filter(has_text="do not match")).to_be_visible()
    page.close()


def test_an_error_stands_beside_its_field_and_the_input_is_kept(page: Page) -> None:
    page.goto("/tournaments/new/")
    page.get_by_label("Environment").fill("CartPoel-v1")
    page.get_by_label("Pool size").fill("0")
    page.get_by_role("button", name="Start tournament").click()
    expect(page.get_by_label("Environment")).to_have_value("CartPoel-v1")
    expect(page.locator("#id_env_id_error")).to_contain_text("CartPole-v1")
    expect(page.locator("#id_pool_size_error")).to_contain_text("got 0")


def test_another_environment_brings_its_defaults_but_not_over_what_was_typed(page: Page) -> None:
    page.goto("/tournaments/new/")
    page.get_by_label("Round env steps").fill("12345")
    page.get_by_label("Environment").fill("Pendulum-v1")
    page.get_by_label("Environment").press("Tab")
    expect(page.get_by_label("Target score")).to_have_value("-200")
    expect(page.get_by_label("Round env steps")).to_have_value("12345")
    page.get_by_label("Environment").fill("Blackjck-v1")
    page.get_by_label("Environment").press("Tab")
    expect(page.locator("#id_env_id_error")).to_contain_text("Did you mean")


def test_a_button_pressed_at_once_waits_for_the_defaults_of_another_environment(page: Page, stack: Stack) -> None:
    page.goto("/tournaments/new/?preset=cartpole-sprint")
    page.wait_for_load_state("networkidle")
    held: list[Route] = []
    page.route("**/new/environment/**", lambda route: held.append(route))
    page.get_by_label("Environment").fill("Pendulum-v1")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_label("Name")).to_have_value("CartPole sprint")
    wait_for(lambda: page.evaluate("true") and held, 10, "the defaults being asked for")
    held[0].continue_()
    expect(page.get_by_role("heading", name="Pendulum-v1 tournament")).to_be_visible()
    spec = stack.api("GET", f"/tournaments/{page.url.rstrip('/').rpartition('/')[2]}")["spec"]
    assert (spec["env_id"], spec["stop"]["score"]) == ("Pendulum-v1", -200)


def test_what_was_typed_before_an_error_is_still_kept_after_it(page: Page) -> None:
    page.goto("/tournaments/new/")
    page.get_by_label("Name").fill("mine")
    page.get_by_label("Environment").fill("Pendulm-v1")
    page.get_by_role("button", name="Start tournament").click()
    expect(page.get_by_role("alert").filter(has_text="does not hold")).to_be_visible()
    page.get_by_label("Environment").fill("Pendulum-v1")
    page.get_by_label("Environment").press("Tab")
    expect(page.get_by_label("Target score")).to_have_value("-200")
    expect(page.get_by_label("Name")).to_have_value("mine")


def test_a_draft_shows_sentences_instead_of_empty_axes(page: Page, stack: Stack) -> None:
    page.goto(f"/tournaments/{draft(stack)}/")
    expect(page.get_by_text("The curves grow here once the tournament has started.")).to_be_visible()
    expect(page.get_by_role("figure", name="Learning curves")).to_be_hidden()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_rows_of_the_search_space_can_be_added_and_removed(page: Page, stack: Stack) -> None:
    page.goto("/tournaments/new/")
    page.get_by_role("button", name="Remove ent_coef").click()
    page.get_by_role("button", name="Add a hyperparameter").click()
    page.get_by_label("Hyperparameter 4").fill("clip_coef")
    page.get_by_label("Kind 4").select_option("choice")
    page.get_by_label("Values 4").fill("0.1, 0.2")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("status", name="Tournament status")).to_have_text("DRAFT")
    identity = page.url.rstrip("/").rpartition("/")[2]
    space = stack.api("GET", f"/tournaments/{identity}")["spec"]["algorithms"][0]["search_space"]
    assert space["clip_coef"] == {"choice": [0.1, 0.2]}
    assert "ent_coef" not in space


def test_renaming_resizing_and_deleting(page: Page, stack: Stack) -> None:
    identity = draft(stack, pool={"size": 2})
    page.goto(f"/tournaments/{identity}/")
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("a better name")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name="a better name")).to_be_visible()
    for _ in range(3):
        page.get_by_role("button", name="One pod more").click()
    wait_for(lambda: stack.api("GET", f"/tournaments/{identity}")["pool_size"] == 5, 10, "a pool of 5")
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("It has no files.")
    page.get_by_role("button", name="Keep it").click()
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("heading", name="Tournaments")).to_be_visible()
    assert page.goto(f"/tournaments/{identity}/").status == 404  # type: ignore[union-attr]


def test_stopping_is_asked_about_first(page: Page, stack: Stack) -> None:
    identity = draft(stack)
    for verb in ("start", "pause"):
        stack.api("POST", f"/tournaments/{identity}/{verb}")
    page.goto(f"/tournaments/{identity}/")
    status = page.get_by_role("status", name="Tournament status")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_contain_text("It cannot be resumed.")
    page.keyboard.press("Enter")  # the harmless answer has the focus
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(status).to_have_text("PAUSED")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop for good").click()
    expect(status).to_have_text("STOPPED")


def test_a_refusal_is_said_in_the_apis_words(page: Page, stack: Stack) -> None:
    identity = draft(stack)
    page.goto(f"/tournaments/{identity}/")
    # Stopped elsewhere in the moment in which the button is pressed.
    page.route("**/start", lambda route: (stack.api("POST", f"/tournaments/{identity}/stop"), route.continue_())[1])
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert").filter(has_text="is STOPPED and cannot be started")).to_be_visible()
    expect(page.get_by_role("status", name="Tournament status")).to_have_text("STOPPED")


def test_a_lost_connection_is_said_and_mended(page: Page, stack: Stack) -> None:
    identity = draft(stack)
    page.goto(f"/tournaments/{identity}/")
    expect(page.get_by_role("status", name="Tournament status")).to_have_text("DRAFT")
    page.evaluate("window.notReloaded = true")
    os.kill(stack.pid_of("web"), signal.SIGKILL)
    expect(page.get_by_text("Connection lost, trying again…")).to_be_visible()
    wait_for(stack._ready, 60, "the web process being back")
    stack.api("PATCH", f"/tournaments/{identity}", {"name": "renamed while away"})
    expect(page.get_by_role("heading", name="renamed while away")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("Connection lost, trying again…")).to_be_hidden()
    assert page.evaluate("window.notReloaded") is True


def test_a_tournament_deleted_elsewhere_says_so(page: Page, stack: Stack) -> None:
    identity = draft(stack)
    page.goto(f"/tournaments/{identity}/")
    until(page, "Boolean(window.podracer)")
    stack.api("DELETE", f"/tournaments/{identity}")
    expect(page.get_by_text("This tournament was deleted.")).to_be_visible()


def test_the_chosen_theme_stays(page: Page) -> None:
    page.goto("/")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Switch between light and dark").click()
    dark = page.evaluate(background)
    assert dark != light
    page.goto("/tournaments/new/")
    assert page.evaluate(background) == dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_of_the_api_has_the_sites_theme_and_can_be_read(page: Page, theme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto("/api/docs", wait_until="commit")
    page.locator(".opblock-post .opblock-summary-control").first.click(timeout=2 * WAIT_MS)
    expect(page.locator(".body-param__example").first).to_be_visible()
    ground = {"light": "rgb(246, 245, 242)", "dark": "rgb(17, 18, 20)"}
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground[theme]
    contrast = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "resultTypes": ["violations"]}
    assert Axe().run(page, options=contrast).response["violations"] == []


def test_the_list_shows_a_new_tournament_without_a_reload(page: Page, stack: Stack) -> None:
    page.goto("/")
    name = "appears by itself"
    draft(stack, name)
    expect(page.get_by_role("link", name=name)).to_be_visible()


def test_an_agents_page_draws_returns_losses_and_episodes(page: Page, stack: Stack, finished: str) -> None:
    champion = stack.api("GET", f"/tournaments/{finished}/leaderboard")["items"][0]["agent"]
    page.goto(f"/agents/{champion}/")
    until(page, "document.querySelector('[data-plot]').data?.[0].x.length > 0")
    losses = page.get_by_label("Quantity").locator("option").all_text_contents()
    assert losses[0] == "Return"
    assert "Value loss" in losses
    page.get_by_label("Quantity").select_option("value_loss")
    until(page, "document.querySelector('[data-plot]').data[0].name === 'Value loss'")
    expect(page.locator("[data-returns] circle")).to_have_count(64)


def test_the_first_stop_of_the_keyboard_skips_to_the_content(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_the_search_space_follows_the_chosen_algorithms(page: Page, stack: Stack) -> None:
    page.goto("/tournaments/new/?preset=cartpole-sprint")
    page.wait_for_load_state("networkidle")
    listed = page.get_by_label("Algorithms", exact=True)
    assert listed.evaluate("list => [...list.options].filter(o => o.disabled).map(o => o.value)") == [
        "ddpg",
        "td3",
        "redq",
    ]
    rows = page.locator("[data-rows] [name=space-algorithm]")
    listed.select_option(["ppo", "dqn"])
    expect(page.locator("[data-rows] tr")).not_to_have_count(3)
    assert set(rows.evaluate_all("all => all.map(one => one.value)")) == {"ppo", "dqn"}
    listed.select_option(["dqn"])
    assert set(rows.evaluate_all("all => all.map(one => one.value)")) == {"dqn"}
    page.get_by_role("button", name="Add a hyperparameter").click()
    assert rows.last.input_value() == "dqn"
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    spec = stack.api("GET", f"/tournaments/{page.url.rstrip('/').rpartition('/')[2]}")["spec"]
    assert [part["name"] for part in spec["algorithms"]] == ["dqn"]


def test_the_board_is_sorted_by_its_heads_and_filtered_and_rows_glide(page: Page, stack: Stack, finished: str) -> None:
    items = stack.api("GET", f"/tournaments/{finished}/leaderboard")["items"]
    names = [item["name"] for item in items]
    page.goto(f"/tournaments/{finished}/")
    board = page.get_by_role("table", name="Leaderboard")
    rows = board.locator("tbody tr")
    expect(rows).to_have_count(len(items))
    expect(board.get_by_role("columnheader", name="Rank")).to_have_attribute("aria-sort", "ascending")
    head = board.get_by_role("columnheader", name="Score")
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(board.locator("th[aria-sort]")).to_have_count(1)
    page.evaluate("document.getAnimations().forEach((one) => one.finish())")
    head.get_by_role("button").click()
    assert page.evaluate("document.querySelector('[data-board]').getAnimations({ subtree: true }).length") > 0
    assert rows.locator(".name").all_inner_texts() == names[::-1]
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("document.getAnimations().forEach((one) => one.finish())")
    head.get_by_role("button").click()
    assert page.evaluate("document.querySelector('[data-board]').getAnimations({ subtree: true }).length") == 0
    assert rows.locator(".name").all_inner_texts() == names
    page.get_by_label("Name, parent or word").fill(f"  {names[1].upper()} ")
    assert names[1] in rows.locator(".name").all_inner_texts()
    expect(rows).not_to_have_count(len(items))
    page.get_by_label("Name, parent or word").fill("nobody")
    expect(page.get_by_text("Nobody on the board is like that.")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(rows).to_have_count(len(items))


def test_events_and_the_best_score_lead_to_their_agent_and_let_it_stand_out(page: Page, finished: str) -> None:
    page.goto(f"/tournaments/{finished}/")
    best = page.evaluate(BEST)
    tile = page.locator("[data-best]").get_by_role("link")
    expect(tile).to_have_attribute("href", f"/agents/{best}/")
    board = page.get_by_role("table", name="Leaderboard")
    tint = "row => getComputedStyle(row).backgroundColor"
    plain = board.locator(f"tr[data-agent='{best}']").evaluate(tint)
    told = page.locator(f".events li[data-agents='{best}']").first
    for part in (tile, told):
        part.hover()
        assert page.evaluate("podracer.curves.highlighted") == [best]
        assert board.locator(f"tr[data-agent='{best}']").evaluate(tint) != plain
        page.mouse.move(2, 2)
    board.locator(f"tr[data-agent='{best}']").hover()
    assert told.evaluate(tint) != told.evaluate("row => getComputedStyle(row.parentElement).backgroundColor")


def test_lineage_hyperparameters_and_slots_are_asked_for_when_they_are_looked_at(
    page: Page, stack: Stack, finished: str
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(f"/tournaments/{finished}/")
    page.get_by_role("tab", name="Lineage").scroll_into_view_if_needed()
    champion = stack.api("GET", f"/tournaments/{finished}")["best_agent_name"]
    items = stack.api("GET", f"/tournaments/{finished}/leaderboard")["items"]
    others = [item["agent"] for item in items if item["name"] != champion]
    spot = page.get_by_role("group", name="Lineage tree").get_by_role("link")
    expect(spot).to_have_accessible_name(re.compile(f"^{champion}, ppo, .*rank 1$"))
    assert not {"hyperparameters", "slots"} & set(asked)
    line = stack.api("GET", f"/agents/{page.evaluate(BEST)}")["ancestry"]
    spot.focus()
    spot.press("Home")
    expect(spot).to_have_accessible_name(re.compile(f"^{line[0]['name']}, "))
    spot.press("End")
    expect(spot).to_have_attribute("href", f"/agents/{line[-1]['id']}/")
    tint = "row => getComputedStyle(row).backgroundColor"
    last, other = (page.locator(f"tr[data-agent='{row}']") for row in (line[-1]["id"], others[0]))
    wait_for(lambda: last.evaluate(tint) != other.evaluate(tint), 5, "its row standing out")
    page.get_by_role("tab", name="Lineage").press("ArrowRight")
    expect(page.get_by_text("3 agents of ppo, each a line")).to_be_visible()
    expect(page.get_by_text("Needs 20 scored agents")).to_be_visible()
    assert "slots" not in asked
    rows = page.get_by_role("table", name="Leaderboard").locator("tbody tr")
    best = max(stack.api("GET", f"/tournaments/{finished}/lineage")["agents"]["score"])
    lower = page.get_by_role("slider", name="score, lower end")
    lower.press("End")
    expect(page.get_by_text("1 of 3 agents in the marked ranges")).to_be_visible()
    expect(lower).to_have_attribute("aria-valuetext", re.compile(f"{best:.0f}"[:2]))
    expect(rows).to_have_count(1)
    page.get_by_role("tabpanel").get_by_role("button", name="Clear").click()
    expect(rows).not_to_have_count(1)
    page.get_by_role("tab", name="Slots").click()
    expect(page.get_by_text(re.compile(r"^Busy .* of the time on [12] slots?"))).to_be_visible()
    bar = page.get_by_role("group", name="Pods on their slots").get_by_role("link")
    expect(bar).to_have_accessible_name(re.compile(r" on \S+ slot \d from \d\d:\d\d:\d\d$"))
    assert asked.count("lineage") == asked.count("hyperparameters") == asked.count("slots") == 1


def test_an_ensemble_is_asked_for_appears_by_itself_plays_and_can_be_removed(
    page: Page, stack: Stack, finished: str
) -> None:
    page.goto(f"/tournaments/{finished}/")
    page.evaluate("window.notReloaded = true")
    board, size = page.get_by_role("table", name="Leaderboard"), page.get_by_label("Agents of the ensemble")
    expect(size.locator("option")).to_have_text(["2", "3"])
    size.select_option("2")
    page.get_by_role("button", name="Make an ensemble").click()
    row = board.get_by_role("row").filter(has=page.get_by_role("link", name="ens-1"))
    expect(row).to_be_visible(timeout=60_000)
    expect(row.locator(".tag")).to_have_text("ensemble")
    expect(page.locator("[data-making] li")).to_have_count(0)
    assert [text[0] for text in sorted(board.locator("td.rank").all_text_contents())] == ["1", "2", "3", "–"]
    page.get_by_role("button", name="Make an ensemble").click()
    expect(page.get_by_text("ens-1 is of these agents already.")).to_be_visible()
    assert page.evaluate("window.notReloaded") is True

    page.get_by_role("link", name="ens-1").first.click()
    expect(page.get_by_role("status", name="Ensemble status")).to_have_text("FINISHED")
    expect(page.get_by_role("table", name="Members").get_by_role("link")).to_have_count(2)
    expect(page.locator("[data-returns] circle")).to_have_count(64)
    page.set_viewport_size({"width": 360, "height": 780})
    until(page, "document.documentElement.scrollWidth === 360")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download checkpoint").click()
    agent = load_agent(download.value.path())
    items = stack.api("GET", f"/tournaments/{finished}/leaderboard")["items"]
    (item,) = [item for item in items if item["kind"] == "ensemble"]
    assert agent.metadata["score"]["score"] == item["score"]
    assert play_episodes(agent, 1, seed=1)[0].length > 0
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="quick one")).to_be_visible()
    expect(board.get_by_role("link", name="ens-1")).to_have_count(0)


def test_a_comparison_follows_what_runs_and_keeps_what_is_looked_at(page: Page, stack: Stack, finished: str) -> None:
    spec = {"env_id": "CartPole-v1", "round": {"env_steps": 2000}, "pool": {"size": 1}, "stop": {"hours": 1}}
    running = stack.tournament_start(**spec, name="one that runs", leaderboard={"eval_episodes": 2})
    wait_for(lambda: stack.api("GET", f"/tournaments/{running}/leaderboard")["items"], 60, "an agent on the board")
    page.goto(f"/compare/?t={finished}&t={running}", wait_until="commit")
    read = page.get_by_text("Read at").get_by_role("time")
    expect(read).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"), timeout=2 * WAIT_MS)
    until(page, "document.querySelectorAll('[data-plot].js-plotly-plot').length === 2")
    page.get_by_role("button", name="Best so far").click()
    page.get_by_text("As a table").first.click()
    plot = "document.querySelector('[data-kind=curves]')"
    page.evaluate(f"Plotly.relayout({plot}, {{ 'xaxis.range': [100, 900] }})")
    page.get_by_label("Target score").fill("47")
    first = read.text_content()
    expect(read).not_to_have_text(str(first), timeout=2 * WAIT_MS)
    stack.api("POST", f"/tournaments/{running}/stop")
    expect(page.get_by_text("Read at")).to_have_count(0, timeout=2 * WAIT_MS)
    expect(page.get_by_text("still running")).to_have_count(0)
    assert page.evaluate(f"{plot}.layout.xaxis.range") == [100, 900]
    seen = page.evaluate(f"{plot}.data.filter((line) => line.visible !== false)")
    assert [line["meta"]["role"] for line in seen] == ["best", "best"]
    expect(page.get_by_role("table", name="Learning curves of CartPole-v1")).to_be_visible()
    expect(page.get_by_label("Target score")).to_have_value("47")


def test_tournaments_and_agents_are_ticked_on_several_pages_and_compared(
    page: Page, stack: Stack, finished: str
) -> None:
    other = draft(stack, "another", pool={"size": 1})
    page.goto("/")
    boxes = [
        page.get_by_role("checkbox", name=f"Compare {name}", exact=True).first for name in ("another", "quick one")
    ]
    for box in boxes:
        box.check()
    chosen = page.get_by_role("region", name="Chosen to compare")
    expect(chosen.get_by_role("status")).to_contain_text("2 chosen")
    page.goto(f"/tournaments/{finished}/", wait_until="commit")
    expect(chosen.get_by_role("status")).to_contain_text("2 chosen", timeout=2 * WAIT_MS)
    first = page.get_by_role("table", name="Leaderboard").get_by_role("checkbox").first
    first.focus()
    page.keyboard.press("Space")
    expect(chosen.get_by_role("status")).to_contain_text("3 chosen")
    label = str(first.get_attribute("aria-label"))
    expect(page.get_by_role("table", name="Pods").get_by_role("checkbox", name=label)).to_be_checked()
    page.goto(f"/agents/{first.get_attribute('data-choose')[1:]}/")  # type: ignore[index]
    own = page.get_by_role("checkbox", name="Compare", exact=False)
    expect(own).to_be_checked()
    expect(page.get_by_role("img", name="env steps; highest")).to_be_visible()
    chosen.get_by_role("link", name="Compare").click()

    expect(page.get_by_role("heading", name="Final scores")).to_be_visible()
    expect(page.get_by_role("link", name="another", exact=True)).to_be_visible()
    until(page, "document.querySelectorAll('[data-plot].js-plotly-plot').length === 2")
    drawn = "document.querySelector('[data-kind=curves]').data.filter((trace) => trace.visible !== false)"
    assert page.evaluate(f"{drawn}.map((trace) => trace.meta.role)") == ["band", "mean"] * 3
    page.get_by_role("button", name="Best so far").click()
    until(page, f"{drawn}.every((trace) => trace.meta.role === 'best')")
    page.get_by_text("Choose others").click()
    page.get_by_label("Search by name or environment").fill("anoth")
    expect(page.get_by_text("1 matches.")).to_be_visible()
    ticked = "[...document.querySelectorAll('[data-offered] input:checked')].map((box) => box.value).sort()"
    assert page.evaluate(ticked) == sorted([other, finished]), "what is chosen stays whatever is looked for"
    page.get_by_role("link", name="Champion").click()
    page.get_by_label("Target score").fill("1")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("when the first agent was scored at 1 or above", exact=False)).to_be_visible()
    plot, name = page.locator("[data-kind=curves]").bounding_box(), page.get_by_text("target 1").bounding_box()
    assert plot
    assert name
    assert plot["x"] < name["x"] < plot["x"] + plot["width"] / 3, "where curves are still far from the target"
    page.get_by_role("link", name="Remove another").click()
    expect(page.get_by_role("link", name="another", exact=True)).to_be_hidden()
    assert f"t={other}" not in page.url
    assert "of=champion" in page.url
