// The leaderboard: rank with its change, agent, score, interval on one common axis, how sure the order is.
import { h, refill, s } from "./dom.js";
import { changes, margin, number, percent } from "./format.js";

function change(item) {
  if (item.rank_change === null) return h("span", { class: "new", title: "new on the leaderboard" }, "new");
  if (item.rank_change > 0) return h("span", { class: "up", title: `up ${item.rank_change}` }, "▲");
  if (item.rank_change < 0) return h("span", { class: "down", title: `down ${-item.rank_change}` }, "▼");
  return h("span", { class: "same", title: "unchanged" }, "·");
}

// From the lowest to the highest of all intervals and the target, with a little room.
export function commonAxis(items, target) {
  const values = items.flatMap((item) => [item.score_low ?? item.score, item.score_high ?? item.score]);
  if (target !== null) values.push(target);
  const known = values.filter((value) => Number.isFinite(value));
  if (!known.length) return { low: 0, high: 1, at: () => 50 };
  const low = Math.min(...known);
  const high = Math.max(...known);
  const span = high - low || Math.abs(high) * 0.02 || 1;
  return { low, high, at: (value) => 3 + (94 * (value - low)) / span };
}

function interval(item, axis, target) {
  const low = item.score_low ?? item.score;
  const high = item.score_high ?? item.score;
  const x = (value) => axis.at(value).toFixed(2);
  return s("svg", { class: `iv c${item.color % 12}`, viewBox: "0 0 100 16", preserveAspectRatio: "none", role: "img",
    "aria-label": `${number(low)} to ${number(high)}` },
  target !== null && s("line", { class: "goal", x1: x(target), x2: x(target), y1: 0, y2: 16 }),
  s("line", { class: "range", x1: Math.min(x(low), x(high) - 1), x2: x(high), y1: 8, y2: 8 }),
  s("line", { class: "point", x1: x(item.score), x2: x(item.score), y1: 2.5, y2: 13.5 }));
}

function descent(item) {
  const text = item.parent_names?.length ? `${item.strategy} of ${item.parent_names.join(" ")}` : item.strategy;
  const changed = changes(item.changes);
  return h("div", { class: "sub", title: changed || null }, text);
}

export class Board {
  constructor(body, empty, onHighlight) {
    this.body = body;
    this.empty = empty;
    this.ranks = new Map();
    this.axisHead = body.closest("table").querySelector("th.ivcell");
    const agentOf = (event) => event.target.closest("tr")?.dataset.agent ?? null;
    body.addEventListener("pointerover", (event) => onHighlight(agentOf(event)));
    body.addEventListener("focusin", (event) => onHighlight(agentOf(event)));
    body.addEventListener("pointerleave", () => onHighlight(null));
    body.addEventListener("focusout", () => onHighlight(null));
  }

  render(items, target) {
    const axis = commonAxis(items, target);
    const moved = this.ranks.size > 0;
    refill(this.body, items.map((item) => this.row(item, axis, target, moved)));
    this.ranks = new Map(items.map((item) => [item.agent, item.rank]));
    this.empty.hidden = items.length > 0;
    this.axisHead.replaceChildren("95 % interval",
      ...(items.length ? [h("div", { class: "axis", "aria-hidden": "true" }, h("span", {}, number(axis.low)), h("span", {}, number(axis.high)))] : []));
  }

  row(item, axis, target, moved) {
    const classes = [item.rank === 1 && "champion", moved && this.ranks.get(item.agent) !== item.rank && "moved"];
    return h("tr", { class: classes.filter(Boolean).join(" ") || null, "data-agent": item.agent },
      h("td", { class: "rank" }, String(item.rank), change(item)),
      h("td", {}, h("span", { class: `chip c${item.color % 12}`, "aria-hidden": "true" }),
        h("a", { class: "name", href: `/agents/${item.agent}/` }, item.name), " ", h("span", { class: "tag" }, item.algorithm), descent(item)),
      h("td", { class: "num score" }, number(item.score), h("div", { class: "sub" }, margin(item))),
      h("td", { class: "ivcell" }, interval(item, axis, target)),
      h("td", { class: "num" }, item.beats_next === null ? "–" : percent(item.beats_next)));
  }
}
