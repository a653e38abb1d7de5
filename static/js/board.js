// The leaderboard: rank with its change, agent, score, interval on one common axis, how sure the order is.
import { BoardView } from "./board_view.js";
import { $, address, h, s, setText } from "./dom.js";
import { glide } from "./flip.js";
import { aligned, certainty, changes, number, plural } from "./format.js";

// Ensembles have no colour of a line of their own.
const tone = (item) => (item.color === null ? "ens" : `c${item.color % 12}`);

const sign = (kind, title, text) => h("span", { class: kind, title, role: "img", "aria-label": title }, text);

function change(item) {
  if (item.rank_change === null) return h("span", { class: "new", title: "new on the leaderboard" }, "new");
  if (item.rank_change > 0) return sign("up", `up ${item.rank_change}`, "▲");
  if (item.rank_change < 0) return sign("down", `down ${-item.rank_change}`, "▼");
  return sign("same", "unchanged", "·");
}

function plusMinus(item) {
  return item.score_low === null || item.score_high === null ? "" : `± ${aligned((item.score_high - item.score_low) / 2)}`;
}

// How many times the upper half's width the axis may span: a straggler must not squeeze the best to points.
const WIDEST = 5;

// From the lowest to the highest of all intervals and the target; what lies far below is cut off at the left.
export function commonAxis(items, target) {
  const lows = items.map((item) => item.score_low ?? item.score).filter(Number.isFinite).sort((a, b) => b - a);
  if (!lows.length) return { low: 0, high: 1, at: () => 50 };
  const high = Math.max(...items.map((item) => item.score_high ?? item.score).filter(Number.isFinite), target ?? -Infinity);
  const middle = lows[Math.floor((lows.length - 1) / 2)];
  const lowest = Math.min(lows.at(-1), target ?? Infinity);
  const low = Math.max(lowest, high - WIDEST * (high - middle || Infinity));
  if (low === high) return { low, high, at: () => 50 };
  return { low, high, at: (value) => Math.max(-1, 4 + (93 * (value - low)) / (high - low)) };
}

function interval(item, axis, target) {
  const low = item.score_low ?? item.score;
  const high = item.score_high ?? item.score;
  const x = (value) => axis.at(value).toFixed(2);
  return s("svg", { class: `iv ${tone(item)}`, viewBox: "0 0 100 16", preserveAspectRatio: "none", role: "img",
    "aria-label": `${number(low)} to ${number(high)}` },
  target !== null && s("line", { class: "goal", x1: x(target), x2: x(target), y1: 0, y2: 16 }),
  s("line", { class: "range", x1: Math.min(x(low), x(high) - 1), x2: x(high), y1: 8, y2: 8 }),
  item.score < axis.low && s("path", { class: "beyond", d: "M3 4 0 8 3 12" }),
  item.score >= axis.low && s("line", { class: "point", x1: x(item.score), x2: x(item.score), y1: 2.5, y2: 13.5 }));
}

function descent(item) {
  if (item.rank === null) return h("div", { class: "sub" }, `of ${item.parent_names.join(" ")}`);
  const text = item.parent_names?.length ? `${item.strategy} of ${item.parent_names.join(" ")}` : item.strategy;
  const changed = changes(item.changes);
  return h("div", { class: "sub", title: changed || null }, text);
}

// So many rows are drawn unless all are asked for.
const SHOWN = 100;

export class Board {
  constructor(table, { empty, more, tools, count }) {
    this.table = table;
    this.body = table.tBodies[0];
    this.empty = empty;
    this.more = more;
    this.tools = tools;
    this.count = count;
    this.ranks = new Map();
    this.rows = new Map();
    this.all = false;
    this.axisHead = $(".axis", table.tHead);
    this.view = new BoardView(table.tHead, tools, () => this.draw());
    more.addEventListener("click", () => {
      this.all = !this.all;
      this.draw();
    });
  }

  sieve(agents) {
    this.view.sieve(agents);
  }

  render(items, { target_score: target, status }) {
    this.items = items;
    this.target = target;
    const over = ["FINISHED", "STOPPED", "FAILED"].includes(status);
    this.nobody = over ? "No pod finished and was evaluated, so nobody is on it." : "Empty until the first pod has finished and was evaluated.";
    this.draw();
    this.ranks = new Map(items.map((item) => [item.agent, item.rank]));
  }

  draw() {
    const { items, target } = this;
    if (!items) return;
    const axis = commonAxis(items, target);
    const wanted = this.view.apply(items);
    const shown = this.all ? wanted : wanted.slice(0, SHOWN);
    const moved = this.ranks.size > 0;
    this.place(shown.map((item) => this.row(item, axis, target, moved)));
    this.axisHead.replaceChildren(...(items.length ? [h("span", {}, number(axis.low)), h("span", {}, number(axis.high))] : []));
    this.tools.hidden = items.length < 2;
    this.empty.hidden = wanted.length > 0;
    setText(this.empty, items.length ? "Nobody on the board is like that." : this.nobody);
    setText(this.count, this.view.filtered ? `${wanted.length} of ${items.length}` : "");
    this.tools.classList.toggle("filtered", this.view.filtered);
    this.more.hidden = wanted.length <= SHOWN;
    setText(this.more, this.all ? `Show the first ${SHOWN}` : `Show all ${plural(wanted.length, "agent")}`);
  }

  // The rows that are wanted, in their order; who was there glides to the new place, and keeps the focus.
  place(wanted) {
    const active = this.body.contains(document.activeElement) ? document.activeElement : null;
    const agent = active?.closest("tr")?.dataset.agent;
    glide(this.body, () => {
      const kept = new Set(wanted);
      for (const row of [...this.body.children]) if (!kept.has(row)) row.remove();
      let next = this.body.firstElementChild;
      for (const row of wanted) {
        if (row === next) next = next.nextElementSibling;
        else this.body.insertBefore(row, next);
      }
    });
    if (agent && document.activeElement !== active) $(`tr[data-agent="${CSS.escape(agent)}"] a`, this.body)?.focus({ preventScroll: true });
  }

  // A row is built again only where it says something else; its element stays, so that it can glide.
  row(item, axis, target, moved) {
    const known = this.rows.get(item.agent);
    const says = JSON.stringify([item, axis.low, axis.high, target]);
    if (known?.says === says) return known.element;
    // Of an ensemble its members stand out.
    const agents = item.rank === null ? item.parents : [item.agent];
    const element = known?.element ?? h("tr", { "data-agent": item.agent });
    element.dataset.agents = agents.join(" ");
    const rose = moved && (!this.ranks.has(item.agent) || this.ranks.get(item.agent) > item.rank);
    const classes = [item.rank === 1 && "champion", rose && "moved"];
    element.className = classes.filter(Boolean).join(" ");
    element.replaceChildren(...this.cells(item, axis, target));
    this.rows.set(item.agent, { says, element });
    return element;
  }

  cells(item, axis, target) {
    return [
      item.rank === null
        ? h("td", { class: "rank" }, h("abbr", { title: "an ensemble has no rank: the agents keep theirs" }, "–"))
        : h("td", { class: "rank" }, String(item.rank), change(item)),
      h("td", {}, h("span", { class: `chip ${tone(item)}`, "aria-hidden": "true" }),
        h("a", { class: "name", href: address(`/agents/${item.agent}/`) }, item.name), " ", h("span", { class: "tag" }, item.algorithm), descent(item)),
      h("td", { class: "num score" }, aligned(item.score), h("div", { class: "sub" }, plusMinus(item))),
      h("td", { class: "ivcell" }, interval(item, axis, target)),
      h("td", { class: "num" }, item.beats_next === null ? "–" : certainty(item.beats_next)),
    ];
  }
}
