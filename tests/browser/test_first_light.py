"""From the printed link to a checkpoint that plays, as a person does it, against the real stack."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import sign_in_link, until
from tests.stack import REPOSITORY, Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SOON = 10_000
ROUND = 60_000
"""Milliseconds that pods, on a machine that does other things too, may take for one round."""


def status_shows(page: Page, status: str, within: float = SOON) -> None:
    expect(page.get_by_role("status", name="Tournament status")).to_have_text(status, timeout=within)


def curve_points(page: Page) -> int:
    """How many points of learning curves are drawn."""
    return int(page.evaluate("podracer.curves.scene.lines.reduce((sum, line) => sum + line.x.length, 0)"))


def test_from_the_link_to_a_checkpoint_that_plays(browser: Browser, stack: Stack, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(sign_in_link(stack))
    tournament_configure(page)
    page.evaluate("window.notReloaded = true")
    board_changes_by_itself(page)
    pause_and_resume(page, stack)
    status_shows(page, "FINISHED", within=3 * ROUND)
    assert page.evaluate("window.notReloaded") is True
    played = checkpoint_play(page, stack, tmp_path)
    assert played > 9  # what a policy that always pushes to one side gets
    page.close()


def tournament_configure(page: Page) -> None:
    page.get_by_role("link", name="New tournament").click()
    for label, text in {
        "Name": "first light",
        "Environment": "CartPole-v1",
        "Pool size": "2",
        "Round env steps": "60,000",
        "Leaderboard size": "4",
        "Target score": "",
        "Pods finished": "6",
    }.items():
        page.get_by_label(label).fill(text)
    expect(page.get_by_label("Algorithms")).to_have_values(["ppo"])
    page.get_by_role("button", name="Start tournament").click()
    expect(page.get_by_role("heading", name="first light")).to_be_visible()
    status_shows(page, "RUNNING")


def board_changes_by_itself(page: Page) -> None:
    rows = page.get_by_role("table", name="Leaderboard").locator("tbody tr")
    expect(page.get_by_role("figure", name="Learning curves")).to_be_visible()
    until(page, "window.podracer?.curves.scene?.lines.some((line) => line.end)", ROUND / 1000)
    before = curve_points(page)
    wait_for(lambda: curve_points(page) > before, ROUND / 1000, "curves that grow")
    expect(rows).not_to_have_count(0, timeout=ROUND)
    delays = page.evaluate("window.podracer.latencies")
    assert delays
    assert all(-1000 < delay < 60_000 for delay in delays)
    first = rows.all_inner_texts()
    wait_for(lambda: rows.all_inner_texts() != first, ROUND / 1000, "another leaderboard")
    assert len(rows.first.inner_text().split()) > 3


def pause_and_resume(page: Page, stack: Stack) -> None:
    identity = page.url.rstrip("/").rpartition("/")[2]
    page.get_by_role("button", name="Pause").click()
    status_shows(page, "PAUSED")
    expect(page.locator("tr.RUNNING")).to_have_count(0, timeout=SOON)
    assert stack.api("GET", f"/tournaments/{identity}")["pods"]["RUNNING"] == 0
    page.get_by_role("button", name="Resume").click()
    status_shows(page, "RUNNING")


def checkpoint_play(page: Page, stack: Stack, folder: Path) -> float:
    """Download the champion and run the snippet that its page offers; returns the return of that episode."""
    page.get_by_role("table", name="Leaderboard").locator("tbody tr").first.get_by_role("link").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download checkpoint").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    agent = stack.api("GET", f"/agents/{page.url.rstrip('/').rpartition('/')[2]}")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == agent["checkpoint"]["sha256"]
    snippet = page.locator(".snippet pre").text_content()
    assert snippet
    assert file.name in snippet
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", snippet]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    found = re.search(r"return: ([\d.]+)", run.stdout)
    assert found, run.stdout
    return float(found[1])
