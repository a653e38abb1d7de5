"""Exports and replays on an agent's page, made by a worker whose only slot is training."""

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import until
from tests.browser.idle import IDLE, LITTLE, idle_package
from tests.stack import Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

MADE_MS = 90_000


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("artefacts")
    with Stack(folder / "home", PODRACER_SLOTS="1", **idle_package(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def agent(stack: Stack) -> Iterator[str]:
    """A champion, while another tournament keeps the only slot busy."""
    spec = {"name": "quick one", "env_id": "CartPole-v1", "round": {"env_steps": 5000}, "stop": {"pods": 1}}
    identity = stack.tournament_start(**spec)
    stack.wait_for_status(identity, "FINISHED")
    champion = stack.api("GET", f"/tournaments/{identity}/leaderboard")["items"][0]["agent"]
    busy = stack.tournament_start(
        env_id=IDLE, algorithms=[LITTLE], pool={"size": 1}, round={"env_steps": 10**9}, stop={"pods": 9}
    )

    def training() -> bool:
        return bool(stack.api("GET", f"/tournaments/{busy}")["pods"]["RUNNING"] == 1)

    wait_for(training, 60, "the slot training")
    yield str(champion)
    assert training()
    stack.api("POST", f"/tournaments/{busy}/stop")


def test_an_export_is_made_on_request_and_downloaded(page: Page, stack: Stack, agent: str) -> None:
    page.goto(f"/agents/{agent}/")
    page.get_by_role("button", name="Make ONNX").click()
    link = page.get_by_role("link", name="Download ONNX")
    expect(link).to_be_visible(timeout=MADE_MS)
    expect(page.locator("#export-onnx")).to_contain_text("Compared with the agent on 256 observations: equal")
    with page.expect_download() as download:
        link.click()
    path = Path(download.value.path())
    assert download.value.suggested_filename.endswith(".onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    (item,) = stack.api("GET", f"/agents/{agent}/exports")["items"]
    assert item["size"] == path.stat().st_size
    page.get_by_text("How to play the ONNX file").click()
    expect(page.locator(".usage pre:visible")).to_contain_text(f'InferenceSession("{item["filename"]}")')


def test_a_replay_is_filmed_on_request_and_plays(page: Page, agent: str) -> None:
    page.goto(f"/agents/{agent}/")
    page.get_by_role("tab", name="Best").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Worst")).to_be_focused()
    expect(page.get_by_role("button", name="Film the best episode")).to_be_hidden()
    height = page.evaluate("document.documentElement.scrollHeight")
    page.get_by_role("button", name="Film the worst episode").click()
    figure = page.get_by_role("figure", name="Worst episode")
    expect(figure).to_be_visible(timeout=MADE_MS)
    expect(figure).to_contain_text("of 20 episodes in Gymnasium")
    assert page.evaluate("document.documentElement.scrollHeight") == height  # nothing below it has moved
    picture = page.evaluate("fetch(document.querySelector('video').poster).then((answer) => answer.status)")
    assert picture == 200
    page.evaluate("document.querySelector('video').play()")
    until(page, "document.querySelector('video').currentTime > 0.1")
    assert page.evaluate("document.querySelector('video').videoWidth") == 600
    page.get_by_role("tab", name="Median").click()
    assert page.evaluate("document.querySelector('#panel-worst video').paused")
    page.set_viewport_size({"width": 360, "height": 780})
    page.get_by_role("tab", name="Worst").click()
    until(page, "document.documentElement.scrollWidth === 360")
