"""The same tournament in a real Chromium, on a thread of its own: what its page draws, how late, and what it knows."""

import queue
import threading
from typing import Any

import psutil
from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import LAUNCH_ARGUMENTS, chromium_path

LOOK_SECONDS = 1.0
READY = "() => window.podracer?.curves.store.complete"
DELAYS = "() => window.podracer.latencies.splice(0)"
STATE = """() => {
  const { store } = window.podracer.curves;
  return { tournament: store.tournament, leaderboard: store.leaderboard, pods: [...store.pods.values()],
           events: store.events, curves: Object.fromEntries(store.curves) };
}"""


class RealPage(threading.Thread):
    """pid: of what has started Chromium; delays: milliseconds from pod to drawn, of all messages"""

    def __init__(self, link: str, url: str) -> None:
        super().__init__(daemon=True)
        self._link, self._url = link, url
        self._asked: queue.Queue[str] = queue.Queue()
        self._answers: queue.Queue[Any] = queue.Queue()
        self.ready = threading.Event()
        self.delays: list[float] = []
        self.pid = 0

    def run(self) -> None:
        others = {child.pid for child in psutil.Process().children()}
        with sync_playwright() as playwright:
            (self.pid,) = {child.pid for child in psutil.Process().children()} - others
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=LAUNCH_ARGUMENTS)
            page = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 1000}).new_page()
            page.goto(self._link)
            page.goto(self._url)
            page.wait_for_function(READY, timeout=60_000)
            self.ready.set()
            self._watch(page)
            browser.close()

    def _watch(self, page: Page) -> None:
        while True:
            try:
                asked = self._asked.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                self.delays += page.evaluate(DELAYS)
                continue
            if asked == "end":
                return
            self._answers.put(page.evaluate(STATE))

    def state(self) -> dict[str, Any]:
        self._asked.put("state")
        answer: dict[str, Any] = self._answers.get(timeout=30)
        return answer

    def close(self) -> None:
        self._asked.put("end")
        self.join(30)
