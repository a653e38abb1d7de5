"""The learning curves of a tournament's page: every way to look at them, zooming, pointing, and what is downloaded."""

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, WebSocket, expect

from benchmarks.crowd import ROUND
from tests.browser.conftest import WAIT_MS, until
from tests.stack import REPOSITORY, Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

AGENTS, POINTS, RUNNING = 15, 1200, 2
COMPLETE = f"window.podracer?.curves.scene?.lines.filter((line) => line.end).length === {AGENTS}"
LOOK = """(away) => {
  Object.defineProperty(document, "hidden", { value: away, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
PLACE = """(agent) => {
  const { picture: { at }, element } = podracer.curves;
  const { end } = podracer.curves.lines.line(agent);
  const { left, top } = element.getBoundingClientRect();
  return [left + at.x.at(end.x) - 2, top + at.y.at(end.y)];
}"""

SPOT = """(chart) => {
  const { x, y } = document.querySelector(`${chart} .spot`).getBoundingClientRect();
  return [x + 11, y + 11];
}"""


@pytest.fixture(scope="module")
def crowd(stack: Stack) -> str:
    """A running tournament of so many long curves that a page is not sent all of their points."""
    command = [sys.executable, "-m", "benchmarks.crowd", "--agents", str(AGENTS), "--points", str(POINTS)]
    printed = subprocess.check_output([*command, "--running", str(RUNNING)], cwd=REPOSITORY, env=stack.environment)
    return printed.decode().strip()


@pytest.fixture
def shown(page: Page, crowd: str) -> Page:
    page.goto(f"/tournaments/{crowd}/")
    until(page, COMPLETE)
    return page


def choose(page: Page, group: str, choice: str) -> None:
    button = page.get_by_role("group", name=group, exact=True).get_by_role("button", name=choice, exact=True)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")


def ticks(page: Page, direction: str) -> list[str]:
    return [plain(text) for text in page.locator(f"[data-plot] .{direction}tick text").all_text_contents()]


def plain(text: str) -> str:
    """No line parts a figure from its unit."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_curves_can_be_looked_at_in_every_way_and_the_view_is_kept(shown: Page) -> None:
    figure = shown.get_by_role("figure", name="Learning curves")
    assert ticks(shown, "x")[-1] == "100 k"
    choose(shown, "Horizontal axis", "Time")
    expect(shown.locator("[data-plot] .title")).to_have_text("time since the start")
    wait_for(lambda: ticks(shown, "x")[-1:] == ["1 min 30 s"], 15, "the axis showing time")
    choose(shown, "Horizontal axis", "Descent")
    until(shown, "podracer.curves.picture.at.x.high === 1")
    choose(shown, "Scale of the vertical axis", "Log")
    expect(figure).to_contain_text("cannot be shown on a log axis and are left out")
    until(shown, "podracer.curves.picture.at.y.low > 0")
    assert {tick.replace("0.", "").lstrip("0")[0] for tick in ticks(shown, "y")} <= {"1", "2", "5"}
    choose(shown, "Which pods are drawn", "Best")
    expect(figure).to_contain_text("best return of all pods so far")
    choose(shown, "Which pods are drawn", "Band")
    expect(figure).to_contain_text("95 % interval of the mean")
    choose(shown, "Line and band", "IQM")
    expect(figure).to_contain_text("interquartile mean of the pods at x")
    until(shown, f"podracer.curves.group?.pods.includes({AGENTS})")
    until(shown, "location.hash.includes('band=iqm')")
    shown.reload()
    until(shown, "window.podracer?.curves.group?.x.length > 0")
    assert shown.evaluate("podracer.curves.view") == {
        "axis": "depth", "y": "log", "x": "linear", "pods": "band", "band": "iqm", "clip": "off", "smoothing": 0
    }  # fmt: skip


def test_outliers_are_clipped_with_a_mark_and_smoothing_keeps_the_return_behind(shown: Page) -> None:
    figure = shown.get_by_role("figure", name="Learning curves")
    assert shown.evaluate("podracer.curves.picture.at.y.high") > 900
    shown.get_by_role("button", name="Clip outliers").click()
    until(shown, "podracer.curves.picture.at.y.high < 600")
    expect(figure).to_contain_text("points beyond the axis")
    shown.get_by_label("Smoothing").fill("0.9")
    expect(figure).to_contain_text("Smoothed 0.9")
    until(shown, "podracer.curves.scene.board[0].line.raw !== null")
    choose(shown, "Which pods are drawn", "Board")
    until(shown, "podracer.curves.scene.others.length === 0 && podracer.curves.scene.board.length === 12")


def test_where_all_returns_are_negative_a_log_axis_says_so_and_offers_the_linear_one(shown: Page) -> None:
    figure = shown.get_by_role("figure", name="Learning curves")
    shown.evaluate(
        "podracer.curves.store.curves.forEach((curve) => curve.episodic_return = curve.episodic_return.map(() => -1))"
    )
    choose(shown, "Scale of the vertical axis", "Log")
    expect(figure).to_contain_text("Every return is 0 or less")
    figure.get_by_role("button", name="Show them on a linear axis").press("Enter")
    expect(shown.get_by_role("button", name="Linear", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(figure).not_to_contain_text("Every return is 0 or less")
    assert shown.evaluate("podracer.curves.picture.at.y.low") < 0


def test_zooming_asks_for_the_points_of_the_part_and_every_spike_is_there(shown: Page) -> None:
    agent = shown.evaluate("podracer.curves.scene.board[0].style.agent")
    held = f"podracer.curves.lines.line('{agent}').x.filter((x) => x >= {ROUND // 4} && x <= {ROUND // 2}).length"
    assert shown.evaluate(held) < POINTS // 4
    box = shown.locator("[data-plot]").bounding_box()
    assert box
    x = [
        box["x"] + shown.evaluate(f"podracer.curves.picture.at.x.at({steps})")
        for steps in (ROUND // 4 - 1, ROUND // 2 + 1)
    ]
    with shown.expect_response(lambda answer: "/curves?" in answer.url and "from=" in answer.url):
        shown.mouse.move(x[0], box["y"] + 150)
        shown.mouse.down()
        shown.mouse.move(x[1], box["y"] + 155, steps=3)
        shown.mouse.up()
    until(shown, f"{held} === {POINTS // 4 + 1}")
    until(shown, "location.hash.includes('from=')")
    shown.get_by_role("button", name="Show all of the curves").click()
    until(shown, f"podracer.curves.picture.at.x.high >= {ROUND}")
    shown.locator("[data-plot]").press("+")
    until(shown, "podracer.curves.zoom !== null")
    shown.locator("[data-plot]").press("0")
    until(shown, "podracer.curves.zoom === null && location.hash === ''")


def test_pointing_at_an_agent_lets_it_stand_out_everywhere(shown: Page) -> None:
    agent, name = shown.evaluate("(({ agent, name }) => [agent, name])(podracer.curves.store.leaderboard[0])")
    row = shown.get_by_role("table", name="Leaderboard").locator(f"tr[data-agents='{agent}']")
    plain = row.evaluate("row => getComputedStyle(row).backgroundColor")
    shown.mouse.move(*shown.evaluate(PLACE, agent))
    expect(shown.locator("[data-plot] .tip")).to_contain_text(
        re.compile(f"^{name} return .* evaluation .*, deterministic$")
    )
    assert row.evaluate("row => getComputedStyle(row).backgroundColor") != plain
    shown.mouse.move(5, 5)
    expect(shown.locator("[data-plot] .tip")).to_be_hidden()
    training = shown.get_by_role("table", name="Pods").locator("tbody tr").first
    training.hover()
    expect(shown.locator("[data-plot] canvas.back")).to_have_count(3)
    assert shown.evaluate("podracer.curves.highlighted") == [training.get_attribute("data-agents")]
    shown.locator("[data-plot]").press("ArrowDown")
    expect(shown.get_by_role("status", name="Chosen line")).to_contain_text(name)
    shown.locator("[data-plot]").press("Enter")
    expect(shown).to_have_url(f"/agents/{agent}/")


@pytest.fixture
def finger(browser: Browser, stack: Stack, context: BrowserContext) -> Iterator[Page]:
    """A phone's page."""
    phone = browser.new_context(
        base_url=stack.url,
        storage_state=context.storage_state(),
        viewport={"width": 360, "height": 740},
        has_touch=True,
        is_mobile=True,
    )
    phone.set_default_timeout(WAIT_MS)
    yield phone.new_page()
    phone.close()


def test_a_finger_shows_first_and_opens_with_the_second_tap(finger: Page, crowd: str) -> None:
    def tap(chart: Locator, place: str, of: str, tip: Locator) -> None:
        chart.scroll_into_view_if_needed()
        finger.touchscreen.tap(*finger.evaluate(place, of))
        expect(tip).to_be_visible()
        assert finger.evaluate("podracer.curves.highlighted") == [agent]
        finger.get_by_role("heading", name=re.compile("^crowd of")).tap()
        expect(tip).to_be_hidden()
        assert not finger.evaluate("podracer.curves.highlighted")
        chart.scroll_into_view_if_needed()
        for _ in range(2):
            finger.touchscreen.tap(*finger.evaluate(place, of))
        expect(finger).to_have_url(f"/agents/{agent}/")

    finger.goto(f"/tournaments/{crowd}/")
    until(finger, COMPLETE)
    agent = finger.evaluate("podracer.curves.store.ranked[0].agent")
    plot = finger.locator("[data-plot]")
    tap(plot, PLACE, agent, plot.locator(".tip"))

    finger.goto(f"/tournaments/{crowd}/")
    tree = finger.locator("[data-tree-plot]")
    tree.scroll_into_view_if_needed()
    expect(tree.get_by_role("link")).to_be_visible()
    tap(tree, SPOT, "[data-tree-plot]", tree.locator(".chart-tip"))


def test_the_whole_is_downloaded_as_a_table(shown: Page, tmp_path: Path) -> None:
    with shown.expect_download() as download:
        shown.get_by_role("link", name="CSV", exact=True).click()
    download.value.save_as(tmp_path / "curves.csv")
    with (tmp_path / "curves.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == AGENTS * POINTS - RUNNING * POINTS // 2
    assert {row["value_loss"] != "" for row in rows} == {True}


def test_a_page_in_the_background_hears_nothing_until_it_is_looked_at(context: BrowserContext, crowd: str) -> None:
    page = context.new_page()
    page.clock.install()
    sockets: list[WebSocket] = []
    page.on("websocket", lambda opened: sockets.append(opened))
    page.goto(f"/tournaments/{crowd}/")
    until(page, COMPLETE)
    page.evaluate(LOOK, True)
    page.clock.fast_forward(59_000)
    assert not sockets[0].is_closed()
    page.clock.fast_forward(2_000)
    # Playwright hears of what happened while it evaluates something.
    wait_for(lambda: page.evaluate("true") and sockets[0].is_closed(), 10, "the socket's end")
    page.evaluate(LOOK, False)
    wait_for(lambda: page.evaluate("true") and len(sockets) == 2, 10, "a new socket")
    expect(page.get_by_role("alert").filter(has_text="Connection lost")).to_be_hidden()


def run(page: Page, module: str, expression: str, *values: Any) -> Any:
    source = (
        f"async (values) => {{ const module = await import('/static/js/{module}'); return ({expression})(...values); }}"
    )
    return page.evaluate(source, list(values))


def test_the_band_of_a_mean_ends_where_the_pods_do(page: Page) -> None:
    page.goto("/")
    group = {
        "mean_low": [-3000, 1, None],
        "mean_high": [1000, 3, None],
        "lowest": [-1200, 0, 5],
        "highest": [-900, 4, 5],
    }
    kept = run(page, "curves-range.js", "(group) => module.withinSeen(group)", group)
    assert (kept["mean_low"], kept["mean_high"]) == ([-1200, 1, None], [-900, 3, None])


def test_smoothing_keeps_a_constant_and_a_gap(page: Page) -> None:
    page.goto("/")
    smooth = "(values, weight) => module.smoothed(values, weight)"
    assert run(page, "curves-lines.js", smooth, [7.3, 7.3, None, 7.3], 0.95) == [7.3, 7.3, None, 7.3]
    assert run(page, "curves-lines.js", smooth, [0.0, 1.0], 0.5) == [0.0, pytest.approx(2 / 3)]


def test_a_curve_that_grows_for_hours_keeps_its_extremes_and_gaps(page: Page) -> None:
    page.goto("/")
    values: list[float | None] = [float(place % 5) for place in range(5000)]
    values[1234], values[4321], values[77] = 99.0, -99.0, None
    curve = {"name": "a", "env_steps": list(range(5000)), "seconds": list(range(5000)), "episodic_return": values}
    thin = run(page, "thinning.js", "(curve) => { module.thin(curve); return curve; }", curve)
    assert {99.0, -99.0, None} <= set(thin["episodic_return"])
    assert len(thin["env_steps"]) == len(thin["seconds"]) == len(thin["episodic_return"]) <= 1002
    assert (thin["env_steps"][0], thin["env_steps"][-1]) == (0, 4999)


def test_axes_have_round_ticks_that_read_well(page: Page) -> None:
    page.goto("/")
    texts = (
        "(kind, type, range, wanted) => module.ticksOf(kind, new module.Scale(type, range, [0, 600]), wanted)"
        ".map((tick) => tick.text)"
    )
    assert list(map(plain, run(page, "curves-scale.js", texts, "steps", "linear", [0, 1.2e6], 6))) == [
        "0", "200 k", "400 k", "600 k", "800 k", "1 M", "1.2 M",
    ]  # fmt: skip
    assert list(map(plain, run(page, "curves-scale.js", texts, "time", "linear", [0, 7200], 5))) == [
        "0", "30 min", "1 h", "1 h 30 min", "2 h",
    ]  # fmt: skip
    assert run(page, "curves-scale.js", texts, "value", "log", [0.5, 200], 8) == [
        "0.5", "1", "2", "5", "10", "20", "50", "100", "200",
    ]  # fmt: skip
    assert run(page, "curves-scale.js", texts, "value", "linear", [-0.2, 0.2], 4) == ["−0.2", "−0.1", "0", "0.1", "0.2"]
