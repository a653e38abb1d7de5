"""A tournament's page with many agents in Chromium: how soon it can be used, what a live update costs, what is seen.

    python -m benchmarks.page_load --agents 1000 --points 200 --running 32

Times of the main thread are CPU time as Chromium counts it, so that a busy machine matters little; the wall clock
stands beside them. A spike is seen when the drawn line has its very point and the axis reaches to it. Exits 1
when the page took longer than `--interactive` milliseconds, an update cost more than `--update`, or a spike is missing.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.crowd import ROUND, return_of, spikes_of
from benchmarks.page_latency import sign_in_link
from tests.browser.chromium import LAUNCH_ARGUMENTS, chromium_path
from tests.stack import Stack

IDLE_MS = 5000
DRAWN = "(agents) => (window.podracer?.curves.scene?.lines.filter((line) => line.end).length ?? 0) >= agents"
SEEN = """(spikes) => {
  const { at } = podracer.curves.picture;
  const lines = new Map(podracer.curves.all().map(({ style, line }) => [style.agent, line]));
  return spikes.filter(([agent, x, y]) => {
    const { x: xs, y: ys } = lines.get(agent);
    return y >= at.y.low && y <= at.y.high && xs.some((one, index) => one === x && Math.abs(ys[index] - y) < 1e-9);
  }).length;
}"""
COUNT = """() => {
  const { curves } = podracer;
  const draw = curves.draw;
  window.draws = [];
  curves.draw = () => {
    const began = performance.now();
    draw.call(curves);
    window.draws.push(performance.now() - began);
  };
}"""


def main() -> int:
    options = _parse()
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack(Path(folder) / "home") as stack,
        sync_playwright() as playwright,
    ):
        crowd = ["--agents", str(options.agents), "--points", str(options.points), "--running", str(options.running)]
        identity = _crowd(stack, *crowd)
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=LAUNCH_ARGUMENTS)
        context = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 1000})
        page = context.new_page()
        page.goto(sign_in_link(stack))
        first = [_load(context.new_page(), stack, identity, options.agents) for _ in range(options.loads)]
        page.close()
        page = context.pages[-1]
        missing = _spikes(page, stack, identity, options)
        update = _update(page, stack, identity, options)
        browser.close()
    return int(min(first) > options.interactive or update > options.update or missing > 0)


def _crowd(stack: Stack, *arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.crowd", *arguments]
    return subprocess.check_output(command, env=stack.environment).decode().strip()


def _metrics(session: CDPSession) -> dict[str, float]:
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def _session(page: Page) -> CDPSession:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def _load(page: Page, stack: Stack, identity: str, agents: int) -> float:
    """Milliseconds of the wall clock until every curve is drawn and the main thread is free."""
    session = _session(page)
    page.goto(f"{stack.url}/tournaments/{identity}/", wait_until="commit")
    page.wait_for_function(DRAWN, arg=agents, timeout=60_000, polling=10)
    page.evaluate("new Promise((resolve) => requestIdleCallback(resolve))")
    wall: float = page.evaluate("performance.now()")
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
    answer = page.evaluate("performance.getEntriesByType('navigation')[0].responseEnd")
    cpu = _metrics(session)["TaskDuration"] * 1000
    print(
        f"load: page received {answer:.0f} ms, first paint {painted:.0f} ms, interactive {wall:.0f} ms; "
        f"main thread {cpu:.0f} ms"
    )
    return wall


def _spikes(page: Page, stack: Stack, identity: str, options: argparse.Namespace) -> int:
    """How many spikes are not seen."""
    curves = stack.api("GET", f"/tournaments/{identity}/curves?points=1000")["curves"]
    spikes = []
    for agent, curve in curves.items():
        index = int(curve["name"], 16)
        reached = options.points if index < options.agents - options.running else options.points // 2
        for place in spikes_of(index, options.points):
            if place < reached:
                x = curve["base_env_steps"] + round(ROUND * (place + 1) / options.points)
                spikes.append([agent, x, return_of(index, curve["depth"], place, options.points)])
    seen: int = page.evaluate(SEEN, spikes)
    drawn = page.evaluate("podracer.curves.scene.lines.reduce((sum, line) => sum + line.x.length, 0)")
    print(f"seen: {seen} of {len(spikes)} spikes, {drawn} of {options.agents * options.points} points drawn")
    return len(spikes) - seen


def _update(page: Page, stack: Stack, identity: str, options: argparse.Namespace) -> float:
    """Milliseconds of the main thread that a live update costs: all that the page does, less what it does idle."""
    page.evaluate(COUNT)
    session = _session(page)
    idle = _spent(session, lambda: page.wait_for_timeout(IDLE_MS))
    idle_rate = {name: value / idle["Timestamp"] for name, value in idle.items()}
    busy = _spent(session, lambda: _feed(stack, identity, options))
    draws = sorted(page.evaluate("window.draws"))
    cost = {name: (busy[name] - idle_rate[name] * busy["Timestamp"]) / len(draws) for name in busy}
    print(
        f"idle: {idle_rate['TaskDuration'] * 1000:.1f} ms of the main thread a second\n"
        f"update: {len(draws)} drawn in {busy['Timestamp'] / 1000:.0f} s; main thread {cost['TaskDuration']:.1f} ms "
        f"each, of it scripts {cost['ScriptDuration']:.1f} ms, style and layout "
        f"{cost['LayoutDuration'] + cost['RecalcStyleDuration']:.1f} ms; drawing the curves: median "
        f"{draws[len(draws) // 2]:.1f} ms, longest {draws[-1]:.1f} ms of the wall clock"
    )
    return cost["TaskDuration"]


def _feed(stack: Stack, identity: str, options: argparse.Namespace) -> None:
    print("fed:", _crowd(stack, "--feed", identity, "--seconds", str(options.seconds), "--rate", str(options.rate)))


def _spent(session: CDPSession, work: Callable[[], None]) -> dict[str, float]:
    """Milliseconds of each of Chromium's durations, and of the wall clock as Timestamp, that pass during `work`."""
    before = _metrics(session)
    work()
    after = _metrics(session)
    return {name: (after[name] - before[name]) * 1000 for name in after if name.endswith(("Duration", "Timestamp"))}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--points", type=int, default=200, help="of each curve")
    parser.add_argument("--running", type=int, default=32, help="pods that report while the page is open")
    parser.add_argument("--rate", type=float, default=10.0, help="points a second of each of them")
    parser.add_argument("--seconds", type=float, default=15.0, help="for which they report")
    parser.add_argument("--loads", type=int, default=3)
    parser.add_argument("--interactive", type=float, default=2000.0, help="milliseconds, the best of the loads")
    parser.add_argument("--update", type=float, default=16.0, help="milliseconds of the main thread")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
