"""Visits to many pages at once, for most of a visit is waiting: what each of them finds wrong."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any, NamedTuple

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, async_playwright

from tests.browser.chromium import LAUNCH_ARGUMENTS, chromium_path
from tests.stack import Stack

AT_ONCE = 4
LONGEST_MS = 60_000
"""For one step of a visit, beside the others and their axe on a slow machine; what is wrong is found, not timed."""
WIDTHS = {1440: ("light", "dark"), 360: ("dark", "light")}
"""Each page is loaded at each width, in the first theme, and then switched to the second."""

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

# Of what moved, the first few elements; a shift within half a second of a click was asked for.
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    const moved = sources.slice(0, 3).map(({ node }) => `${node?.nodeName}.${node?.className ?? ""}`);
    if (!hadRecentInput) window.shifts.push({ value, moved: moved.join(" ") });
  }
}).observe({ type: "layout-shift", buffered: true });
"""
# Until for a while nothing was asked for and nothing moved.
SETTLED = """async () => {
  const news = () => `${document.readyState} ${performance.getEntriesByType("resource").length} ${shifts.length}`;
  for (let before = "", now = news(); before !== now || !now.startsWith("complete"); now = news()) {
    before = now;
    await new Promise((done) => setTimeout(done, 150));
  }
  return shifts;
}"""
AXE = Axe().axe_script
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
AXE_RUN = "([within, options]) => axe.run(within ?? document, options).then(({ violations }) => violations)"
OPEN_ALL = "document.querySelectorAll('main details').forEach((details) => { details.open = true; })"


class Visit(NamedTuple):
    """A page as somebody sees it, which may shift by a fifth of what web.dev/cls calls good.

    `clicks` are made there one after another, each with the part that it changes.
    """

    who: str
    path: str
    status: int = 200
    most_shift: float = 0.02
    clicks: tuple[tuple[str, str, str], ...] = ()


class Visitors:
    """A browser context for everybody who visits, and the ids of what there is to see."""

    def __init__(self, browser: Browser, stack: Stack) -> None:
        self.browser = browser
        self.stack = stack
        self.made: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        self._contexts: dict[str, BrowserContext] = {}

    async def page(self, who: str) -> Page:
        if who not in self._contexts:
            self._contexts[who] = await self.browser.new_context(base_url=self.stack.url, reduced_motion="reduce")
            self._contexts[who].set_default_timeout(LONGEST_MS)
            await self._contexts[who].add_init_script(SHIFTS)
        return await self._contexts[who].new_page()

    async def problems(self, visits: Sequence[Visit]) -> dict[Visit, list[str]]:
        """What is wrong with each page, at each width."""
        turn = asyncio.Semaphore(AT_ONCE)

        async def look(visit: Visit, width: int) -> list[str]:
            async with turn:
                return await self._problems(visit, width)

        looks = [asyncio.gather(*(look(visit, width) for width in WIDTHS)) for visit in visits]
        return {visit: [*chain(*await both)] for visit, both in zip(visits, looks, strict=True)}

    async def _problems(self, visit: Visit, width: int) -> list[str]:
        found: list[str] = []
        first, second = WIDTHS[width]
        address = self.bases.get(visit.who, "") + visit.path.format(**self.made)
        page = await self.page(visit.who)
        listen(page, found, refused="" if visit.status == 200 else self.stack.url + address)
        try:
            await page.set_viewport_size({"width": width, "height": 1000})
            await page.emulate_media(color_scheme=first)  # type: ignore[arg-type]
            found += await loaded(page, visit, address)
            found += await violations(page)
            found += [problem async for problem in clicked(page, visit)]
            found += await too_wide(page)
            await page.emulate_media(color_scheme=second)  # type: ignore[arg-type]
            await page.evaluate(DRAWN)
            found += await violations(page, rules=["color-contrast"])
            found += await too_wide(page)
        except Error as error:
            found.append(str(error))
        finally:
            await page.close()
        return [f"{address} at {width}, {first} first: {problem}" for problem in found]


@asynccontextmanager
async def visitors_to(stack: Stack) -> AsyncIterator[Visitors]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=LAUNCH_ARGUMENTS)
        yield Visitors(browser, stack)
        await browser.close()


async def loaded(page: Page, visit: Visit, address: str) -> list[str]:
    """Once nothing is on its way to the page any more, and all of it is open."""
    found = []
    response = await page.goto(address)
    if response is None or response.status != visit.status:
        found.append(f"the answer is {response and response.status}")
    shifts = await page.evaluate(SETTLED)
    if sum(shift["value"] for shift in shifts) >= visit.most_shift:
        found.append(f"it moved while it loaded: {shifts}")
    await page.evaluate(OPEN_ALL)
    return found


async def clicked(page: Page, visit: Visit) -> AsyncIterator[str]:
    for role, name, part in visit.clicks:
        await page.get_by_role(role, name=name, exact=True).click()  # type: ignore[arg-type]
        await page.locator(part).wait_for()
        await page.evaluate(SETTLED)
        for problem in [*await too_wide(page), *await violations(page, within=part)]:
            yield problem
    await page.keyboard.press("Escape")


def listen(page: Page, found: list[str], refused: str) -> None:
    """Note errors. That an address was `refused` is one to the browser, and here as it should be."""

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and message.location["url"] != refused:
            found.append(f"the console has: {message.text} ({message.location['url']})")

    page.on("console", note)
    page.on("pageerror", lambda error: found.append(f"a script failed: {error}"))


async def too_wide(page: Page) -> list[str]:
    shown, wide = await page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    return [f"{wide} px wide"] if wide > shown else []


async def violations(page: Page, within: str | None = None, rules: list[str] | None = None) -> list[str]:
    """What axe refuses: the rule, where, and what would be right."""
    if not await page.evaluate("Boolean(window.axe)"):
        await page.evaluate(AXE)
    only: dict[str, Any] = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": RULES}
    found = await page.evaluate(AXE_RUN, [within, {"resultTypes": ["violations"], "runOnly": only}])
    return [f"axe {rule['id']}: {node['target']} {node['failureSummary']}" for rule in found for node in rule["nodes"]]
