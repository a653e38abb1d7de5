"""What the tournament's page costs the browser with very many agents.

    python -m benchmarks.insights_page --agents 1000 --limit 16

Writes a finished tournament of so many agents, opens its page in a headless Chromium
and prints milliseconds of its main thread (CPU time of the thread, so that a busy machine matters little): to show each
tab for the first time, and for what happens again and again. Exits 1 when one of the latter is above the limit.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.page_latency import sign_in_link
from tests.browser.chromium import LAUNCH_ARGUMENTS, chromium_path
from tests.stack import Stack, wait_for

TABS = ("Lineage", "Hyperparameters", "Slots")
TIMES = 12
SECONDS = 240.0

# Each is done TIMES times, a frame apart.
AGAIN = {
    "point at another agent": """(i) => {
      const rows = document.querySelectorAll("[data-board] tr");
      rows[i % rows.length].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    }""",
    "sort the board": """(i) => document.querySelectorAll(".board th[data-sort] button")[i % 2 ? 2 : 0].click()""",
    "move over the chart": """(i) => {
      const canvas = document.querySelector("[data-panel]:not([hidden]) canvas");
      const box = canvas.getBoundingClientRect();
      const place = { clientX: box.x + (i * box.width) / 12, clientY: box.y + box.height / 2 };
      canvas.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, ...place }));
    }""",
    "zoom the chart": """(i) => {
      const way = i % 2 ? "zoomOut" : "zoomIn";
      document.querySelector(`[data-panel]:not([hidden]) [value=${way}]`)?.click();
    }""",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the tournament's page with many agents.")
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--board", type=int, default=8, help="entries of the leaderboard")
    parser.add_argument("--limit", type=float, default=16.0, help="milliseconds of the main thread, on average")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder) / "home") as stack:
        size = ["--agents", str(arguments.agents), "--board", str(arguments.board)]
        command = [sys.executable, "-m", "benchmarks.large_tournament", *size]
        identity = subprocess.check_output(command, env=stack.environment, text=True).strip()
        worst = measure(stack, identity)
    return 0 if worst <= arguments.limit else 1


def measure(stack: Stack, identity: str) -> float:
    """Prints each measurement; the worst of those that happen again and again."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=LAUNCH_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(SECONDS * 1000)
        page.goto(sign_in_link(stack))
        thread = page.context.new_cdp_session(page)
        thread.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(f"{stack.url}/tournaments/{identity}/")
        more = page.locator("[data-board-more]")
        if more.is_visible():
            more.click()
        costs = [cost for tab in TABS for cost in tab_costs(page, thread, tab)]
        browser.close()
    return max(costs)


def tab_costs(page: Page, thread: CDPSession, tab: str) -> list[float]:
    settle(page)
    before = busy(thread)
    page.get_by_role("tab", name=tab).click()
    page.locator("[data-insights]").scroll_into_view_if_needed()
    answered = f"performance.getEntriesByType('resource').some((one) => one.name.endsWith('/{tab.lower()}'))"
    wait_for(lambda: page.evaluate(answered), SECONDS, f"{tab} being answered")
    settle(page)
    print(f"{tab + ' shown first':42s} {busy(thread) - before:7.1f} ms", flush=True)
    costs = []
    for what, action in AGAIN.items():
        settle(page)
        before = busy(thread)
        page.evaluate(
            f"""async () => {{
              const act = {action};
              for (let i = 0; i < {TIMES}; i += 1) {{
                act(i);
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
              }}
            }}"""
        )
        costs.append((busy(thread) - before) / TIMES)
        print(f"{f'{tab}: {what}':42s} {costs[-1]:7.1f} ms", flush=True)
    return costs


def busy(thread: CDPSession) -> float:
    """Milliseconds that the page's main thread has worked so far."""
    metrics = {one["name"]: one["value"] for one in thread.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"]) * 1000


def settle(page: Page) -> None:
    """Until the page has had nothing to do for a moment."""
    page.evaluate("() => new Promise((done) => requestIdleCallback(() => requestIdleCallback(done)))")


if __name__ == "__main__":
    sys.exit(main())
