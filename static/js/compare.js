// The figures of a comparison, and the search among what can be chosen.
import { $, $$, json } from "./dom.js";
import { CONFIG, coloured, fitted } from "./figure.js";

const PAUSE_MS = 200;
const figures = json("figures");

function draw(element) {
  const { data, layout } = figures[element.dataset.plot][element.dataset.kind];
  return Plotly.react(element, coloured(data), fitted(coloured(layout), element), CONFIG);
}

const drawAll = () => Promise.all($$("[data-plot]").map(draw));

for (const group of $$("[data-seg=role]")) {
  group.addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    for (const button of $$("button", group)) button.setAttribute("aria-pressed", String(button === chosen));
    const plot = $("[data-plot]", group.closest("section"));
    for (const trace of figures[plot.dataset.plot].curves.data) {
      trace.visible = (trace.meta.role === "best") === (chosen.value === "best");
    }
    draw(plot);
  });
}

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
