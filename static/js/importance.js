// How much each hyperparameter mattered: its share with the interval, and how good agents were at each of its levels.
import { h, s } from "./dom.js";
import { percent, setting } from "./format.js";

const range = ({ low, high }) => (low === high ? setting(low) : `${setting(low)} to ${setting(high)}`);

function bar({ share, low, high }) {
  const x = (value) => (value * 100).toFixed(2);
  return s("svg", { class: `imp${low > 0 ? "" : " unsure"}`, viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img",
    "aria-label": `${percent(share)}, between ${percent(low)} and ${percent(high)}` },
  s("rect", { class: "track", x: 0, y: 6, width: 100, height: 8 }),
  s("rect", { class: "value", x: 0, y: 6, width: x(share), height: 8 }),
  s("line", { x1: x(low), x2: x(high), y1: 10, y2: 10 }),
  ...[low, high].map((end) => s("line", { x1: x(end), x2: x(end), y1: 5.5, y2: 14.5 })));
}

// A column for each level, as high as its agents ranked; the half is what chance gives.
function columns(levels) {
  const wide = 100 / levels.length;
  const best = levels.reduce((a, b) => (b.rank > a.rank ? b : a));
  return s("svg", { class: "levels", viewBox: "0 0 100 34", preserveAspectRatio: "none", role: "img",
    "aria-label": levels.map((level) => `${range(level)}: ${percent(level.rank)}`).join(", ") },
  levels.map((level, index) => s("rect", { class: level === best ? "top" : null, x: index * wide + 1, width: wide - 2, y: 34 - 34 * level.rank, height: 34 * level.rank },
    s("title", {}, `${range(level)}: mean rank ${percent(level.rank)} of ${level.agents} agents`))),
  s("line", { x1: 0, x2: 100, y1: 17, y2: 17 }));
}

function row(item) {
  const best = item.levels.reduce((a, b) => (b.rank > a.rank ? b : a));
  const sure = item.low > 0;
  return h("tr", { class: sure ? null : "unsure" }, h("th", { scope: "row" }, item.name),
    h("td", { class: "num sharecell" }, percent(item.share), h("div", { class: "sub" }, `${percent(item.low)} to ${percent(item.high)}`)),
    h("td", { class: "barcell" }, bar(item)),
    h("td", { class: "levelcell" }, columns(item.levels), h("div", { class: "ends sub", "aria-hidden": "true" },
      h("span", {}, setting(item.levels[0].low)), h("span", {}, setting(item.levels.at(-1).high)))),
    h("td", { class: "sub bestcell" }, sure ? `best at ${range(best)}` : "may be chance"));
}

export function importanceShow(body, note, { problem, agents, founders, items }) {
  body.replaceChildren(...items.map(row));
  body.closest("table").hidden = !items.length;
  note.textContent = problem ?? (items.length
    ? `Share of the differences in score rank that each explains by itself, from ${agents} agents of ${founders} founders, with its 95 % interval.`
    : "Nothing to tell apart: no hyperparameter was searched, or every agent scored the same.");
}
