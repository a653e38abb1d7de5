"""How long a point of a learning curve takes from leaving its pod to being drawn in the page.

    python -m benchmarks.page_latency --limit 500

Opens the tournament's page in a headless Chromium while two pods train, and reads the delays that the page keeps.
Exits 1 when the 95th percentile is above the limit.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.chromium import LAUNCH_ARGUMENTS, chromium_path
from tests.stack import Stack

POINTS = 150
WAIT_MS = 90_000


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the delay from pod to page.")
    parser.add_argument("--limit", type=float, default=500.0, help="milliseconds, 95th percentile")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder) / "home") as stack:
        identity = stack.tournament_start(
            env_id="CartPole-v1", round={"env_steps": 400_000}, stop={"pods": 12}, name="latency"
        )
        delays = page_delays(stack, identity)
        stack.api("POST", f"/tournaments/{identity}/stop")
    percentile = statistics.quantiles(delays, n=20)[-1]
    median = statistics.median(delays)
    print(f"pod to page, {len(delays)} points: median {median:.0f} ms, 95th percentile {percentile:.0f} ms")
    return 0 if percentile <= arguments.limit else 1


def page_delays(stack: Stack, identity: str) -> list[float]:
    """Milliseconds of the last POINTS points drawn."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=LAUNCH_ARGUMENTS)
        page = browser.new_context(bypass_csp=True).new_page()  # Playwright waits by evaluating text
        page.goto(sign_in_link(stack))
        page.goto(f"{stack.url}/tournaments/{identity}/")
        page.wait_for_function(f"window.podracer && window.podracer.latencies.length >= {POINTS}", timeout=WAIT_MS)
        delays: list[float] = page.evaluate("window.podracer.latencies")
        browser.close()
    return delays


def sign_in_link(stack: Stack) -> str:
    """The link that the start printed, alone on its line."""
    return next(line.strip() for line in stack.log().splitlines() if "/sign-in/link/" in line)


if __name__ == "__main__":
    sys.exit(main())
