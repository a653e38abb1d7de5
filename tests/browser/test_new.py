"""The form of a new tournament in a real browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.conftest import sign_in_link
from tests.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def status(page: Page) -> Locator:
    return page.get_by_role("status", name="Tournament status")


def summary(page: Page) -> Locator:
    return page.locator("[data-summary]")


def test_from_sign_in_to_a_running_tournament_takes_at_most_four_clicks(browser: Browser, stack: Stack) -> None:
    page = browser.new_page()
    clicks = 0

    def click(element: Locator) -> None:
        nonlocal clicks
        clicks += 1
        element.click()

    def running() -> int:
        """That it runs, after how many clicks; then it is removed."""
        nonlocal clicks
        expect(status(page)).to_have_text("RUNNING")
        stack.api("DELETE", f"/tournaments/{page.url.rstrip('/').rpartition('/')[2]}")
        taken, clicks = clicks, 0
        return taken

    for item in stack.api("GET", "/tournaments")["items"]:
        stack.api("DELETE", f"/tournaments/{item['id']}")
    page.goto(sign_in_link(stack))
    click(page.get_by_role("button", name="Start Acrobot"))
    assert running() == 1
    page.goto(stack.url)
    click(page.get_by_role("link", name="New tournament"))
    click(page.locator(".env", has_text="Pendulum-v1"))
    expect(page.get_by_label("Target score")).to_have_value("-200")
    click(page.get_by_role("button", name="Start tournament"))
    assert running() == 3
    page.close()


def test_environments_are_found_and_chosen_with_the_keyboard(page: Page) -> None:
    page.goto("/tournaments/new/")
    cards = page.locator(".env:visible strong")
    expect(cards).to_have_count(5)
    page.get_by_label("Environment").fill("ant")
    expect(cards).to_have_text(["Ant-v5", "Ant-v4"])
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Ant-v5")).to_be_focused()
    expect(page.get_by_role("button", name="MuJoCo")).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Environment").fill("acro")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Environment")).to_have_value("Acrobot-v1")
    page.get_by_label("Environment").fill("pend")
    expect(cards).to_have_text(["Pendulum-v1"])
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Pendulum-v1")).to_be_focused()
    expect(page.get_by_label("Environment")).to_have_value("Pendulum-v1")
    expect(page.get_by_label("Target score")).to_have_value("-200")
    expect(page.locator("[data-about]")).to_contain_text("1 continuous action")
    expect(summary(page)).to_contain_text("ppo in Pendulum-v1")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Environment")).not_to_have_value("Pendulum-v1")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Environment")).to_have_value("Pendulum-v1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Start tournament")).to_be_visible()
    page.get_by_role("button", name="All").click()
    expect(cards.nth(5)).to_be_visible()


def test_the_form_is_checked_while_it_is_typed(page: Page) -> None:
    page.goto("/tournaments/new/?preset=cartpole-sprint")
    page.wait_for_load_state("networkidle")
    check = page.get_by_role("status", name="Check")
    size = page.get_by_label("Pool size")
    size.fill("0")
    expect(page.locator("#id_pool_size_error")).to_have_text("Must be at least 1, got 0")
    expect(check).to_contain_text("1 field marked: Must be at least 1")
    expect(size).to_be_focused()
    expect(size).to_have_attribute("aria-invalid", "true")
    size.fill("1")
    expect(page.locator("#id_pool_size_error")).to_have_count(0)
    expect(check).to_contain_text("About 50 pods of 100,000 steps")
    expect(page.locator(".lane")).to_have_count(1)
    page.get_by_label("Values 1").fill("0.9, 0.2")
    expect(page.locator("[data-row-errors]").first).to_contain_text("above high")
    expect(page.locator("[data-picture]").first.locator("svg")).to_have_count(0)


def test_each_row_draws_what_it_says(page: Page) -> None:
    page.goto("/tournaments/new/?preset=cartpole-sprint")
    page.wait_for_load_state("networkidle")
    page.get_by_role("button", name="Add a hyperparameter").click()
    page.get_by_label("Hyperparameter 4").fill("num_epochs")
    page.get_by_label("Hyperparameter 4").press("Tab")
    expect(page.get_by_label("Kind 4")).to_have_value("choice")
    expect(page.get_by_label("Values 4")).to_have_value("5, 10, 20")
    row = page.locator("[data-rows] tr").last
    expect(row.locator(".stem")).to_have_count(3)
    expect(row.locator("[data-meaning]")).to_have_text("passes over each batch; from 1, at most 100, tuned 10.")
    page.get_by_label("Kind 4").select_option("int")
    page.get_by_label("Values 4").fill("2, 8")
    expect(row.locator(".bar-of")).to_have_count(7)
    expect(row.locator(".tuned")).to_have_count(1)
    page.get_by_label("Kind 4").select_option("loguniform")
    expect(row.locator(".area")).to_have_count(1)
    points = row.locator(".area").get_attribute("points")
    assert points
    assert len({point.split(",")[1] for point in points.split()}) == 2  # as likely everywhere on a logarithmic axis
    places = [float(str(tick.get_attribute("x1"))) for tick in row.locator(".tick").all()]
    assert places[2] - places[0] == pytest.approx(places[6] - places[2], abs=0.2)  # from 2 to 4 as from 4 to 8
    page.get_by_label("Kind 4").select_option("fixed")
    page.get_by_label("Values 4").fill("3")
    expect(row.locator(".stem")).to_have_count(1)


@contextmanager
def before_the_script(page: Page, address: str) -> Iterator[None]:
    """The form's page, whose script comes only at the end."""
    held: list[Route] = []
    script = re.compile(r"/js/new(\.[0-9a-f]+)?\.js$")
    page.route(script, lambda route: held.append(route))
    with page.expect_request(script):
        page.goto(address, wait_until="commit")
    yield
    for route in held:
        route.continue_()


def test_what_is_typed_before_the_script_has_come_is_checked_too(page: Page, stack: Stack) -> None:
    identity = stack.api("POST", "/tournaments", {"name": "typed at once", "env_id": "CartPole-v1"})["id"]
    with before_the_script(page, f"/tournaments/new/?from={identity}"):
        page.get_by_label("Pool size").fill("4")
    expect(page.locator("[data-differences] dl > div")).to_have_text([re.compile(r"Pool size\s*was 2\s*now 4")])


@pytest.mark.parametrize("how", ["card", "typed", "typed and left"])
def test_an_environment_chosen_before_the_script_has_come_brings_its_defaults(page: Page, how: str) -> None:
    with before_the_script(page, "/tournaments/new/"):
        page.get_by_label("Pool size").fill("3")
        if how == "card":
            page.locator(".env", has_text="Pendulum-v1").click()
        else:
            page.get_by_label("Environment").fill("Pendulum-v1")
        if how == "typed and left":
            page.get_by_label("Pool size").focus()
    page.wait_for_load_state("networkidle")
    page.get_by_label("Pool size").focus()
    expect(page.get_by_label("Target score")).to_have_value("-200")
    expect(page.get_by_label("Environment")).to_have_value("Pendulum-v1")
    expect(page.get_by_label("Pool size")).to_have_value("3")
    expect(page.locator(".env:has(input:checked)")).to_contain_text("Pendulum-v1")


def test_algorithms_chosen_before_the_script_has_come_bring_their_rows(page: Page) -> None:
    last = page.locator("select[name=space-algorithm]").last
    with before_the_script(page, "/tournaments/new/"):
        page.get_by_label("Algorithms").select_option(["ppo", "a2c"])
        expect(last).to_have_value("ppo")
    expect(last).to_have_value("a2c")


def test_running_again_shows_what_is_changed(page: Page, stack: Stack) -> None:
    spec = {"name": "first try", "env_id": "CartPole-v1", "pool": {"size": 2}}
    identity = stack.api("POST", "/tournaments", spec)["id"]
    page.goto(f"/tournaments/{identity}/")
    page.get_by_role("link", name="Run again with changes").click()
    listed = page.locator("[data-differences]")
    expect(listed).to_contain_text("Nothing is changed yet")
    page.get_by_label("Pool size").fill("4")
    expect(listed.locator("dl > div")).to_have_text([re.compile(r"Pool size\s*was 2\s*now 4")])
    page.get_by_role("button", name="Remove ent_coef").click()
    expect(listed).to_contain_text("ent_coef of ppo")
    expect(listed).to_contain_text("the tuned value")
    page.get_by_label("Pool size").fill("2")
    expect(listed.locator("dl > div")).to_have_count(1)
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("heading", name="first try 2")).to_be_visible()


DROP = """(text) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], "spec.toml", { type: "application/toml" }));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    document.querySelector("h1").dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true }));
  }
}"""


def test_a_specification_goes_out_and_comes_in_as_toml(page: Page, tmp_path: Path) -> None:
    page.goto("/tournaments/new/?preset=acrobot")
    page.wait_for_load_state("networkidle")
    page.get_by_label("Seed").evaluate("field => field.closest('details').open = true")
    page.get_by_label("Seed").fill("42")
    expect(page.locator("[data-toml]")).to_contain_text("seed = 42")
    page.get_by_text("As a TOML file").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download TOML").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "spec.toml"
    page.goto("/tournaments/new/")
    page.evaluate(DROP, file.read_text())
    expect(page.get_by_label("Environment")).to_have_value("Acrobot-v1")
    expect(page.get_by_label("Seed")).to_have_value("42")
