"""Every page, light and dark, on a wide screen and on a phone: no error in the console, nothing wider than the screen,
nothing that moves while it loads, and nothing that axe (axe-core, with its rules of WCAG 2.1 A and AA and its best
practices) refuses.

An address that is new in urls.py fails here until it is listed below. `make pages` runs it, on a machine that does
nothing else.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import URLPattern, get_resolver, resolve

from tests.browser.conftest import sign_in_link
from tests.browser.idle import IDLE, LITTLE, SHORT, idle_package
from tests.browser.visiting import Visit, Visitors, visitors_to
from tests.stack import Stack, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]

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
VISITS = [(name, visit) for name, visits in PAGES.items() for visit in visits]
NOWHERE = Visit("owner", "/nowhere", status=404)
# An agent that comes onto the board moves what is below it.
LIVE = [
    Visit("owner", path, most_shift=0.1)
    for path in ("/tournaments/{many}/", "/", "/agents/{trainee}/", "/workers/", "/compare/?t={many}&t={one}")
]

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
    for name, visit in VISITS:
        path = urlsplit(visit.path.format_map(defaultdict(int))).path
        assert resolve(path).view_name == name


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("every-page")
    with Stack(folder / "home", PODRACER_SLOTS="2", **idle_package(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def problems(request: pytest.FixtureRequest, stack: Stack) -> dict[Visit, list[str]]:
    """What is wrong with each page that a test of this run asks about."""
    items = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    wanted = [item.callspec.params["visit"] for item in items if hasattr(item, "callspec")]
    return asyncio.run(look(stack, wanted))


async def look(stack: Stack, visits: list[Visit]) -> dict[Visit, list[str]]:
    async with visitors_to(stack) as visitors:
        training = asyncio.create_task(asyncio.to_thread(tournaments_make, stack))
        await people_make(visitors)
        visitors.made |= await training
        await asyncio.to_thread(tournament_share, visitors)
        found = await visitors.problems([visit for visit in visits if visit not in LIVE])
        if live := [visit for visit in visits if visit in LIVE]:
            visitors.made |= await asyncio.to_thread(live_make, stack)
            found |= await visitors.problems(live)
        return found


async def people_make(visitors: Visitors) -> None:
    """Two who see nothing yet, and a project."""
    page = await visitors.page("owner")
    await page.goto(await asyncio.to_thread(sign_in_link, visitors.stack))
    for role in ("runner", "viewer"):
        await page.goto("/people/")
        await page.get_by_label("Name").fill(f"a-{role}")
        await page.get_by_label("Role", exact=True).select_option(role)
        await page.get_by_role("button", name="Invite").click()
        link = await page.get_by_label("The sign-in link").locator("code").text_content()
        invited = await visitors.page(role)
        await invited.goto(str(link))
        await invited.close()
        href = await page.get_by_role("link", name=f"a-{role}").get_attribute("href")
        visitors.made[role] = str(href).strip("/").rpartition("/")[2]
    await page.goto("/projects/")
    await page.get_by_label("Name").fill("walkers")
    await page.get_by_role("button", name="Create project").click()
    await page.get_by_role("heading", name="walkers").wait_for()
    visitors.made["project"] = page.url.rstrip("/").rpartition("/")[2]
    await page.close()


def tournaments_make(stack: Stack) -> dict[str, str]:
    """One that has ended, with an ensemble, and one that has not begun."""
    spec = {"env_id": "CartPole-v1", "round": {"env_steps": 5000}}
    space = {"learning_rate": {"loguniform": [1e-4, 1e-2]}, "ent_coef": {"choice": [0.0, 0.01]}}
    algorithms = [{"name": "ppo", "search_space": space}]
    board = {"size": 3, "ensemble": 2}
    finished = stack.tournament_start(
        **spec, name="quick one", algorithms=algorithms, stop={"pods": 3}, leaderboard=board
    )
    draft = stack.api("POST", "/tournaments", {**spec, "name": "a draft"})["id"]
    champion = stack.wait_for_status(finished, "FINISHED")["best_agent"]
    ensemble = wait_for(lambda: ensemble_of(stack, finished), 60, "the ensemble")
    return {"finished": finished, "draft": str(draft), "champion": str(champion), "ensemble": ensemble}


def ensemble_of(stack: Stack, tournament: str) -> str | None:
    board = stack.api("GET", f"/tournaments/{tournament}/leaderboard")["items"]
    return next((str(item["agent"]) for item in board if item["kind"] == "ensemble"), None)


def tournament_share(visitors: Visitors) -> None:
    """The one that has ended: with a project, and with whoever has its link."""
    about, stack = f"/tournaments/{visitors.made['finished']}", visitors.stack
    stack.api("PUT", f"{about}/sharing", {"project": visitors.made["project"], "shared": False})
    url = stack.api("POST", f"{about}/links", {"name": "the reviewers", "lifetime_days": 30})["url"]
    visitors.bases["holder of a link"] = urlsplit(url).path.rstrip("/")


def live_make(stack: Stack) -> dict[str, str]:
    """One whose agents come onto the board again and again, and one whose only pod trains for long."""
    common: dict[str, Any] = {"algorithms": [LITTLE], "pool": {"size": 1}, "stop": {"hours": 1}}
    board = {"leaderboard": {"eval_episodes": 2}}
    many = stack.tournament_start(env_id=SHORT, round={"env_steps": 64}, **board, **common)
    one = stack.tournament_start(env_id=IDLE, round={"env_steps": 10**9}, **common)

    def training() -> str | None:
        pods = stack.api("GET", f"/tournaments/{one}/pods")["items"]
        return next((str(pod["agent"]) for pod in pods if pod["env_steps"] > 0), None)

    agent = wait_for(training, 60, "a pod that trains")
    wait_for(lambda: stack.api("GET", f"/tournaments/{many}/leaderboard")["items"], 60, "an agent on the board")
    return {"many": many, "one": one, "trainee": agent}


@pytest.mark.parametrize(
    "visit", [visit for _, visit in VISITS], ids=[f"{visit.who} at {visit.path}" for _, visit in VISITS]
)
def test_a_page_holds_still_fits_and_is_accessible(problems: dict[Visit, list[str]], visit: Visit) -> None:
    assert problems[visit] == []


@pytest.mark.parametrize("visit", [NOWHERE])
def test_an_address_that_nothing_has_says_so_accessibly(problems: dict[Visit, list[str]], visit: Visit) -> None:
    assert problems[visit] == []


@pytest.mark.parametrize("visit", LIVE, ids=[visit.path for visit in LIVE])
def test_a_page_that_is_live_holds_still_fits_and_is_accessible(problems: dict[Visit, list[str]], visit: Visit) -> None:
    assert problems[visit] == []
