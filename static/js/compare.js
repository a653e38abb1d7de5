// The figures of a comparison, kept up to date while any of it runs, and the search among what can be chosen.
import { keepAsking, partOf } from "./connection.js";
import { $, $$, json } from "./dom.js";
import { CONFIG, coloured, fitted } from "./figure.js";
import { childrenLike } from "./morph.js";
import { showTimes } from "./times.js";

const PAUSE_MS = 200;
const EVERY_MS = 5_000;
// Of many large tournaments an answer takes its time.
const OVERDUE_MS = 30_000;

const root = $("#compared");
let figures = json("figures");

// Which lines of a figure are seen.
function roleShow(plot, role) {
  for (const trace of figures[plot.dataset.plot].curves.data) trace.visible = (trace.meta.role === "best") === (role === "best");
}

function draw(element) {
  const { data, layout } = figures[element.dataset.plot][element.dataset.kind];
  return Plotly.react(element, coloured(data), fitted(coloured(layout), element), CONFIG);
}

const drawAll = () => Promise.all($$("[data-plot]").map(draw));

root.addEventListener("click", ({ target }) => {
  const chosen = target.closest("[data-seg=role] button");
  if (!chosen) return;
  for (const button of chosen.parentElement.children) button.setAttribute("aria-pressed", String(button === chosen));
  const plot = $("[data-plot]", chosen.closest("section"));
  roleShow(plot, chosen.value);
  draw(plot);
});

// Plots keep their zoom and all else its place; the choice of lines holds for the new ones.
async function follow(html, end) {
  const next = $("#compared", new DOMParser().parseFromString(html, "text/html"));
  childrenLike(root, next);
  figures = json("figures");
  for (const chosen of $$("[data-seg=role] [aria-pressed=true]", root)) roleShow($("[data-plot]", chosen.closest("section")), chosen.value);
  showTimes();
  if (!next.dataset.source) end();
  await drawAll();
}

if (root.dataset.source) keepAsking((signal) => partOf(root.dataset.source, signal), follow, EVERY_MS, OVERDUE_MS);

// What was ticked stays, whatever is looked for then; of two answers the one to the later question counts.
const search = $("[data-filter]");
let waiting = 0;
let asked = 0;

async function offer() {
  const number = ++asked;
  const query = new URLSearchParams({ q: search.value });
  for (const box of $$("[data-offered] input:checked")) query.append("t", box.value);
  query.append("only", "options");
  try {
    const response = await fetch(`?${query}`);
    if (number !== asked || response.redirected || !response.ok) return;
    const next = new DOMParser().parseFromString(await response.text(), "text/html").body;
    const ticked = new Set($$("[data-offered] input:checked").map((box) => box.value));
    for (const box of $$("input", next)) box.checked = ticked.has(box.value);
    $("[data-offered]").replaceChildren(...next.childNodes);
  } catch {
    // The server is away: what is shown stays.
  }
}

search?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(offer, PAUSE_MS);
});

document.addEventListener("themechange", drawAll);
drawAll();
