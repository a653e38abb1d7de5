"""What the tournament's page says of its figures and pods, run by the browser's own engine."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from podracer_core.tournament import sentences
from webapp.tournaments.templatetags.podracer import ago

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

GOAL = """async ([tournament, pods]) => {
  const { goal } = await import("/static/js/summary.js");
  return goal(tournament, pods);
}"""

PERCENT = """async (shares) => {
  const { percent } = await import("/static/js/format.js");
  return shares.map(percent);
}"""

RELATIVE = """async (moments) => {
  const { relative } = await import("/static/js/format.js");
  return moments.map(relative);
}"""

ROW = """async ([status, pod]) => {
  const { Pods } = await import("/static/js/pods.js");
  const [body, empty, button] = ["tbody", "p", "button"].map((tag) => document.createElement(tag));
  new Pods(body, empty, button).render({ tournament: { status }, leaderboard: [], pods: new Map([["7", pod]]) });
  return body.textContent;
}"""

TICKED = """async ([before, after]) => {
  const { Pods } = await import("/static/js/pods.js");
  const [table, body, empty, button] = ["table", "tbody", "p", "button"].map((tag) => document.createElement(tag));
  Object.assign(body.dataset, { podRows: "", choosable: "" });
  table.append(body);
  document.body.append(table);
  await import("/static/js/choose.js");
  const pods = new Pods(body, empty, button);
  const show = (shown) => {
    pods.render({ tournament: { name: "race" }, leaderboard: [], pods: new Map(shown.map((pod) => [pod.id, pod])) });
    return new Promise((done) => requestAnimationFrame(done));
  };
  await show(before);
  body.querySelector("[data-choose=a1]").focus();
  body.querySelector("[data-choose=a1]").click();
  await show(after);
  const ticked = [...body.querySelectorAll(":checked")].map((box) => box.getAttribute("aria-label"));
  return [ticked, document.activeElement.getAttribute("aria-label"), document.querySelector(".chosen-bar a").href];
}"""

FOLDS = """async ([agents, clicked]) => {
  const { Lineage } = await import("/static/js/lineage.js");
  const root = document.createElement("div");
  root.style.cssText = "width: 900px; height: 400px";
  document.body.append(root);
  const tree = new Lineage(root, () => {});
  const painted = async () => {
    do await new Promise(requestAnimationFrame); while (tree.stale !== false);
  };
  tree.shows = "lines";
  tree.setData(agents, "best", 60);
  await painted();
  const shown = [tree.shown[0]];
  for (const id of clicked) {
    const box = tree.mores.get(tree.nodes.get(id));
    tree.near((box.left + box.right) / 2, (box.top + box.bottom) / 2, 1).act();
    await painted();
    shown.push(tree.shown[0]);
  }
  return shown;
}"""

NUMBERS = """async (values) => {
  const { aligned, number } = await import("/static/js/format.js");
  return values.map((value) => [number(value), aligned(value)]);
}"""

RETURNS = """async (returns) => {
  const { distributionShow } = await import("/static/js/distribution.js");
  const root = document.createElement("div");
  distributionShow(root, { returns, score: 500, score_low: 500, score_high: 500, screening: null });
  const places = [...root.querySelectorAll("circle")].map((one) => one.getAttribute("cx"));
  return [places.length, new Set(places).size, root.querySelector(".count")?.textContent];
}"""

LINE = """async (ancestry) => {
  const { lineShow } = await import("/static/js/story.js");
  const [list, sentence] = ["ol", "p"].map((tag) => document.createElement(tag));
  document.body.append(list);
  const names = () => [...list.querySelectorAll("strong")].map((one) => one.textContent);
  lineShow(list, sentence, ancestry);
  const told = () => [names(), list.querySelector("button").textContent];
  const all = [told()];
  for (let clicks = 0; clicks < 2; clicks += 1) {
    list.querySelector("button").click();
    lineShow(list, sentence, ancestry);
    all.push([...told(), document.activeElement.textContent]);
  }
  return all;
}"""

ENSEMBLES = """async ([items, making]) => {
  const { Ensembles } = await import("/static/js/ensembles.js");
  const [form, list] = [document.createElement("form"), document.createElement("ul")];
  form.dataset.most = "64";
  form.append(document.createElement("select"), document.createElement("button"));
  new Ensembles(form, list, "/api/tournaments/1").render({ ranked: items, making });
  return [form.hidden, list.textContent, list.querySelectorAll("button").length];
}"""


def goal(page: Page, best: float | None, history: list[float], target: float | None = 475, **stop: float) -> Any:
    page.goto("/")
    return page.evaluate(GOAL, [standing(best, history, target, **stop), []])


def standing(best: float | None, history: list[float], target: float | None, **stop: float) -> dict[str, Any]:
    return {
        "target_score": target,
        "best_score": best,
        "sparkline": history,
        "progress": None,
        "pods": {"FINISHED": 2},
        "env_steps": 30_000,
        "seconds": 90,
        "spec": {"stop": stop, "round": {"seconds": 30}},
    }


def test_the_progress_stands_under_the_rule_that_is_furthest_along(page: Page) -> None:
    assert goal(page, -0.09, [-0.09], pods=50) == {"title": "Pods 2 of 50", "share": 0.04}
    assert goal(page, 380, [95, 380], pods=50) == {"title": "Towards the target of 475", "share": 0.8}
    assert goal(page, None, [], None, env_steps=40_000)["title"] == "Env steps 30\xa0k of 40\xa0k"
    assert goal(page, None, [], None, hours=0.05) == {"title": "Time 1\xa0min 30\xa0s of 3\xa0min", "share": 0.5}


def test_a_generation_that_has_trained_and_is_evaluated_is_not_all_nor_more_of_its_budget(page: Page) -> None:
    pods = [pod(status="RUNNING", env_steps=9000, round_env_steps=None, seconds=31)] * 4
    page.goto("/")
    told = page.evaluate(GOAL, [standing(None, [], None, pods=6), pods])
    assert told == {"title": "Pods 2 of 6", "share": pytest.approx((2 + 4 * 0.999) / 6)}


def test_what_ends_beyond_its_budget_used_all_of_it(page: Page) -> None:
    assert goal(page, None, [], None, env_steps=29_000) == {"title": "Env steps 29\xa0k of 29\xa0k", "share": 1}
    assert goal(page, None, [], None, hours=0.02)["title"] == "Time 1\xa0min 12\xa0s of 1\xa0min 12\xa0s"


def test_a_pod_tells_its_steps_of_the_round_until_that_is_over(page: Page) -> None:
    assert "2.05\xa0k of 3\xa0k" in row(page, "RUNNING", env_steps=2048, round_env_steps=3000)
    beyond = row(page, "RUNNING", env_steps=4096, round_env_steps=3000)
    assert "4.1\xa0k" in beyond
    assert "4.1\xa0k of" not in beyond


@pytest.mark.parametrize(
    ("best", "history", "target", "share"),
    [(-500, [-1100, -500], -200, 2 / 3), (-3, [-2], 10, 0), (12, [3, 12], 10, 1), (None, [], 10, 0), (0, [0], 10, 0)],
)
def test_the_way_to_the_target_is_never_negative_nor_above_all_of_it(
    page: Page, best: float | None, history: list[float], target: float, share: float
) -> None:
    assert goal(page, best, history, target)["share"] == pytest.approx(share)


def test_shares_are_rounded_as_in_the_events_and_never_up_to_all(page: Page) -> None:
    page.goto("/")
    shown = page.evaluate(PERCENT, [0, 0.626, 0.625, 0.99, 0.991, 1])
    assert [text.replace("\xa0", " ") for text in shown] == ["0 %", "63 %", "62 %", "99 %", "> 99 %", "100 %"]


def test_scores_are_rounded_as_in_the_events_and_nothing_is_minus_0(page: Page) -> None:
    page.goto("/")
    values = [67.125, -0.001, 1234.5, -124.677, 0.5]
    assert page.evaluate(NUMBERS, values) == [
        [sentences.number(value), aligned]
        for value, aligned in zip(values, ["67.12", "0.00", "1,234", "\N{MINUS SIGN}125", "0.50"], strict=True)
    ]


def test_equal_returns_are_one_column_with_their_number(page: Page) -> None:
    page.goto("/")
    assert page.evaluate(RETURNS, [500] * 16) == [16, 1, "16 × 500"]
    assert page.evaluate(RETURNS, [500] * 15 + [20]) == [16, 2, None]


def test_the_middle_of_a_long_line_opens_and_folds_again_by_a_button_that_keeps_the_focus(page: Page) -> None:
    page.goto("/")
    names = [f"a{number:02}" for number in range(12)]
    line = [{"id": name, "name": name, "strategy": "exploit", "score": 1.0, "changes": {}} for name in names]
    ends = [*names[:4], *names[-4:]]
    assert page.evaluate(LINE, line) == [[ends, "4 more"], [names, "fewer", "fewer"], [ends, "4 more", "4 more"]]


def test_what_was_opened_in_the_lineage_tree_folds_again_with_all_below_it(page: Page) -> None:
    page.goto("/")
    names = ("parents", "inherits_from", "rank", "score")
    rows = {
        "first": ([], None, None, 1.0),
        "best": (["first"], "first", 1, 9.0),
        **{name: (["first"], "first", None, 2.0) for name in ("left", "right")},
        **{name: (["left"], "left", None, 3.0) for name in ("one", "other")},
    }
    common = {"status": "FINISHED", "began": 0, "ended": 9, "env_steps": 1, "strategy": "", "algorithm": "", "color": 1}
    agents = [
        {**common, "id": agent, "name": agent, **dict(zip(names, row, strict=True))} for agent, row in rows.items()
    ]
    assert page.evaluate(FOLDS, [agents, ["first", "left", "first", "first"]]) == [2, 4, 6, 2, 4]


def test_how_long_ago_reads_as_the_server_wrote_it(page: Page) -> None:
    page.goto("/")
    distances = [0, -40, -50, -100, -3000, -7300, -90_000, -1_000_000, -100_000_000, 300, 700_000]
    moments = [(timezone.now() + timedelta(seconds=seconds)).isoformat() for seconds in distances]
    assert page.evaluate(RELATIVE, moments) == [ago(moment) for moment in moments]


def pod(**values: Any) -> dict[str, Any]:
    numbers = {"env_steps": 0, "episodic_return": None, "score": None, "env_steps_per_second": 0}
    names = {"id": "7", "agent": "1", "agent_name": "k7f2", "strategy": "fresh", "status": "QUEUED", "worker": ""}
    return {**numbers, **names, "attempt": 1, "losses": 0, "device": "cpu", "slot": None, **values}


def row(page: Page, status: str, **values: Any) -> str:
    page.goto("/")
    return str(page.evaluate(ROW, [status, pod(**values)]))


def test_a_pod_says_how_often_it_was_retried_and_nothing_of_pauses(page: Page) -> None:
    assert "attempt" not in row(page, "RUNNING", attempt=2)
    assert "retried" not in row(page, "RUNNING", attempt=2)
    assert "fresh · retried once" in row(page, "RUNNING", attempt=3, losses=1)
    assert "fresh · retried 2 times" in row(page, "RUNNING", attempt=3, losses=2)


def test_a_queued_pod_of_a_paused_tournament_waits_for_nothing(page: Page) -> None:
    assert "waits for a CPU slot" in row(page, "RUNNING")
    assert row(page, "PAUSED").endswith("paused")


def test_a_pods_box_stays_ticked_and_has_the_focus_when_other_pods_come_before_it(page: Page) -> None:
    page.goto("/tokens/")
    first, second = pod(agent_name="k7f2"), pod(id="8", agent="2", agent_name="m3w9", status="RUNNING")
    ticked, focused, address = page.evaluate(TICKED, [[first], [first, second]])
    assert (ticked, focused) == (["Compare k7f2"], "Compare k7f2")
    assert address.endswith("/compare/?a=1")


def test_one_that_failed_shows_its_reason_and_a_lone_agent_offers_none(page: Page) -> None:
    page.goto("/")
    failed = {"agent": "5", "name": "ens-1", "status": "FAILED", "reason": "No Hopper.", "members": [{"name": "k7f2"}]}
    hidden, text, buttons = page.evaluate(ENSEMBLES, [[{}], [failed]])
    assert (hidden, buttons) == (True, 2)
    assert text == "ens-1of k7f2Try againRemoveNo Hopper."
    waiting = page.evaluate(ENSEMBLES, [[{}, {}], [{**failed, "status": "QUEUED", "reason": ""}]])
    assert waiting == [False, "ens-1of k7f2Waiting for a worker", 0]
