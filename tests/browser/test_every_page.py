"""Every page, light and dark, on a wide screen and on a phone: no error in the console, nothing wider than the screen,
nothing that moves while it loads, and nothing that axe (axe-core, with its rules of WCAG 2.1 A and AA and its best
practices) refuses.

An address that is new in urls.py fails here until it is listed below. `make pages` runs it: a minute or two of every
page in Chromium is more than each run of all tests can wait for.
"""

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import URLPattern, get_resolver, resolve
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from tests.browser.conftest import WAIT_MS, sign_in_link
from tests.stack import Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(240)]
OWN_STACK = True

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


class Visit(NamedTuple):
    """A page as somebody sees it, which may shift by a fifth of what web.dev/cls calls good.

    `clicks` are made there one after another, each with the part that it changes.
    """

    who: str
    path: str
    status: int = 200
    most_shift: float = 0.02
    clicks: tuple[tuple[str, str, str], ...] = ()


INSIGHTS = (("tab", "Hyperparameters", "[data-insights]"), ("tab", "Slots", "[data-insights]"))
DIALOGS = (("button", "Share", "dialog[open]"),)

PAGES = {
    "tournaments:list": [Visit("owner", "/"), Visit("runner", "/"), Visit("viewer", "/")],
    "tournaments:new": [Visit("owner", "/tournaments/new/"), Visit("owner", "/tournaments/new/?from={finished}")],
    "tournaments:detail": [
        Visit("owner", "/tournaments/{draft}/"),
        Visit("owner", "/tournaments/{finished}/", clicks=INSIGHTS + DIALOGS),
        Visit("holder of a link", "/tournaments/{finished}/"),
    ],
    "tournaments:agent": [Visit("owner", "/agents/{champion}/"), Visit("owner", "/agents/{ensemble}/")],
    "tournaments:compare": [
        Visit("owner", "/compare/?t={finished}&t={draft}&a={champion}"),
        Visit("owner", "/compare/"),
        Visit("runner", "/compare/"),
    ],
    "tournaments:report": [Visit("owner", "/tournaments/{finished}/report/")],
    "tournaments:storage": [Visit("owner", "/storage/")],
    "tournaments:notifications": [Visit("owner", "/notifications/")],
    "tournaments:workers": [Visit("owner", "/workers/")],
    "tournaments:projects": [Visit("owner", "/projects/"), Visit("viewer", "/projects/")],
    "tournaments:project": [Visit("owner", "/projects/{project}/")],
    "accounts:people": [Visit("owner", "/people/"), Visit("viewer", "/people/", status=403)],
    "accounts:person": [Visit("owner", "/people/{runner}/")],
    "accounts:audit": [Visit("owner", "/audit/")],
    "accounts:tokens": [Visit("owner", "/tokens/")],
    "accounts:password": [Visit("owner", "/password/")],
    "accounts:sign-in": [Visit("stranger", "/sign-in/")],
    "accounts:sign-in-link": [Visit("stranger", "/sign-in/link/used/", status=403)],
}
NOWHERE = Visit("owner", "/nowhere", status=404)

FOR_PROGRAMS = {"healthz", "readyz", "metrics"}
PARTS = {f"tournaments:{name}" for name in ("cards", "slots", "worker-cards", "environment-defaults", "check")} | {
    "tournaments:export",
    "tournaments:replay",
    "tournaments:webhook-rows",
}
FILES = {"tournaments:spec", "accounts:audit-csv"}
ONLY_POSTED = {"tournaments:preset-start", "accounts:sign-out", "accounts:token-revoke"}
OTHERS = {"admin", "api-1"}
"""Namespaces of pages that Django and django-ninja make."""

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
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
AXE_RUN = "([within, options]) => axe.run(within ?? document, options).then(({ violations }) => violations)"
WIDTHS = "[innerWidth, document.documentElement.scrollWidth]"
OPEN_ALL = "document.querySelectorAll('main details').forEach((details) => { details.open = true; })"


def names() -> set[str]:
    """Of all addresses, but for others' pages."""
    found = set()
    for entry in get_resolver().url_patterns:
        if isinstance(entry, URLPattern):
            found.add(str(entry.name))
        elif entry.namespace not in OTHERS:
            found |= {f"{entry.namespace}:{pattern.name}" for pattern in entry.url_patterns}
    return found


def test_every_address_is_a_page_that_is_visited_here_or_known_to_be_none() -> None:
    assert names() == PAGES.keys() | FOR_PROGRAMS | PARTS | FILES | ONLY_POSTED


class Visitors:
    """A browser context for everybody who visits, and the ids of what there is to see."""

    def __init__(self, browser: Browser, stack: Stack) -> None:
        self.stack = stack
        self.made: dict[str, str] = {}
        self.bases = {"holder of a link": ""}
        self.contexts: dict[str, BrowserContext] = {}
        for who in ("owner", "runner", "viewer", "stranger", "holder of a link"):
            self.contexts[who] = browser.new_context(base_url=stack.url, reduced_motion="reduce")
            self.contexts[who].set_default_timeout(WAIT_MS)
            self.contexts[who].add_init_script(SHIFTS)

    def people_make(self) -> None:
        """Two who see nothing yet, and a project."""
        page = self.contexts["owner"].new_page()
        page.goto(sign_in_link(self.stack))
        for role in ("runner", "viewer"):
            page.goto("/people/")
            page.get_by_label("Name").fill(f"a-{role}")
            page.get_by_label("Role", exact=True).select_option(role)
            page.get_by_role("button", name="Invite").click()
            link = page.get_by_label("The sign-in link").locator("code").text_content()
            self.contexts[role].new_page().goto(str(link))
            self.contexts[role].pages[0].close()
            href = page.get_by_role("link", name=f"a-{role}").get_attribute("href")
            self.made[role] = str(href).strip("/").rpartition("/")[2]
        page.goto("/projects/")
        page.get_by_label("Name").fill("walkers")
        page.get_by_role("button", name="Create project").click()
        page.get_by_role("heading", name="walkers").wait_for()
        self.made["project"] = page.url.rstrip("/").rpartition("/")[2]
        page.close()

    def tournaments_make(self) -> None:
        """One that has ended with an ensemble and is in the project, and one that has not begun."""
        spec = {"env_id": "CartPole-v1", "round": {"env_steps": 5000}}
        space = {"learning_rate": {"loguniform": [1e-4, 1e-2]}, "ent_coef": {"choice": [0.0, 0.01]}}
        algorithms = [{"name": "ppo", "search_space": space}]
        finished = self.stack.tournament_start(
            **spec, name="quick one", algorithms=algorithms, stop={"pods": 3}, leaderboard={"size": 3, "ensemble": 2}
        )
        draft = self.stack.api("POST", "/tournaments", {**spec, "name": "a draft"})["id"]
        self.stack.wait_for_status(finished, "FINISHED")
        self.stack.api("PUT", f"/tournaments/{finished}/sharing", {"project": self.made["project"], "shared": False})
        link = {"name": "the reviewers", "lifetime_days": 30}
        url = self.stack.api("POST", f"/tournaments/{finished}/links", link)["url"]
        self.bases["holder of a link"] = urlsplit(url).path.rstrip("/")
        ensemble = wait_for(lambda: self._ensemble(finished), 60, "the ensemble")
        champion = self.stack.api("GET", f"/tournaments/{finished}")["best_agent"]
        self.made |= {"finished": finished, "draft": str(draft), "champion": champion, "ensemble": ensemble}

    def _ensemble(self, tournament: str) -> str | None:
        board = self.stack.api("GET", f"/tournaments/{tournament}/leaderboard")["items"]
        return next((item["agent"] for item in board if item["kind"] == "ensemble"), None)

    def problems(self, visit: Visit) -> list[str]:
        """What is wrong with a page: on a wide screen, then on a phone, each loaded in one theme and switched."""
        wide = self._problems(visit, 1440, ("light", "dark"))
        return wide + self._problems(visit, 360, ("dark", "light"))

    def _problems(self, visit: Visit, width: int, themes: tuple[str, str]) -> list[str]:
        page = self.contexts[visit.who].new_page()
        found: list[str] = []
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(color_scheme=themes[0])  # type: ignore[arg-type]
        address = self.bases.get(visit.who, "") + visit.path.format(**self.made)
        listen(page, found, refused="" if visit.status == 200 else self.stack.url + address)
        response = page.goto(address)
        assert response
        assert response.status == visit.status
        shifts = page.evaluate(SETTLED)
        if sum(shift["value"] for shift in shifts) >= visit.most_shift:
            found.append(f"it moved while it loaded: {shifts}")
        page.evaluate(OPEN_ALL)
        if width > 1000:
            found += violations(page)
        found += self._clicked(page, visit, width)
        found += too_wide(page)
        page.emulate_media(color_scheme=themes[1])  # type: ignore[arg-type]
        page.evaluate(DRAWN)
        if width > 1000:
            found += violations(page, rules=["color-contrast"])
        found += too_wide(page)
        page.close()
        return [f"{address} at {width}, {themes[0]} first: {problem}" for problem in found]

    def _clicked(self, page: Page, visit: Visit, width: int) -> Iterator[str]:
        for role, name, part in visit.clicks:
            page.get_by_role(role, name=name, exact=True).click()  # type: ignore[arg-type]
            page.locator(part).wait_for()
            page.evaluate(SETTLED)
            yield from too_wide(page)
            if width > 1000:
                yield from violations(page, within=part)
        page.keyboard.press("Escape")


def listen(page: Page, found: list[str], refused: str) -> None:
    """Note errors. That an address was `refused` is one to the browser, and here as it should be."""

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and message.location["url"] != refused:
            found.append(f"the console has: {message.text} ({message.location['url']})")

    page.on("console", note)
    page.on("pageerror", lambda error: found.append(f"a script failed: {error}"))


def too_wide(page: Page) -> list[str]:
    shown, wide = page.evaluate(WIDTHS)
    return [f"{wide} px wide"] if wide > shown else []


def violations(page: Page, within: str | None = None, rules: list[str] | None = None) -> list[str]:
    """What axe refuses: the rule, where, and what would be right."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(Axe().axe_script)
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": RULES}
    found = page.evaluate(AXE_RUN, [within, {"resultTypes": ["violations"], "runOnly": only}])
    return [f"axe {rule['id']}: {node['target']} {node['failureSummary']}" for rule in found for node in rule["nodes"]]


@pytest.fixture(scope="module")
def visitors(browser: Browser, stack: Stack) -> Visitors:
    made = Visitors(browser, stack)
    made.people_make()
    made.tournaments_make()
    return made


VISITS = [(name, visit) for name, visits in PAGES.items() for visit in visits]


@pytest.mark.parametrize(("name", "visit"), VISITS, ids=[f"{visit.who} at {visit.path}" for _, visit in VISITS])
def test_a_page_holds_still_fits_and_is_accessible(visitors: Visitors, name: str, visit: Visit) -> None:
    assert resolve(urlsplit(visit.path.format(**visitors.made)).path).view_name == name
    assert visitors.problems(visit) == []


def test_an_address_that_nothing_has_says_so_accessibly(visitors: Visitors) -> None:
    assert visitors.problems(NOWHERE) == []


def test_pages_that_are_live_hold_still_fit_and_are_accessible(visitors: Visitors, stack: Stack) -> None:
    spec = {"env_id": "CartPole-v1", "pool": {"size": 1}, "stop": {"hours": 1}}
    many, one = (stack.tournament_start(**spec, round={"env_steps": steps}) for steps in (5_000, 50_000_000))

    def training() -> str | None:
        pods = stack.api("GET", f"/tournaments/{one}/pods")["items"]
        return next((pod["agent"] for pod in pods if pod["env_steps"] > 2_000), None)

    agent = wait_for(training, 60, "a pod that trains")
    wait_for(lambda: stack.api("GET", f"/tournaments/{many}/leaderboard")["items"], 60, "an agent on the board")
    paths = [f"/tournaments/{many}/", "/", f"/agents/{agent}/", "/workers/"]
    # An agent that comes onto the board moves what is below it.
    found = [problem for path in paths for problem in visitors.problems(Visit("owner", path, most_shift=0.1))]
    for tournament in (many, one):
        stack.api("POST", f"/tournaments/{tournament}/stop")
    assert found == []
