// The figures of a comparison, and the filter of what can be chosen.
import { $, $$, json } from "./dom.js";
import { CONFIG, coloured, fitted } from "./figure.js";

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

$("[data-filter]")?.addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const option of $$("[data-options] li")) {
    const text = option.textContent.toLowerCase();
    option.hidden = !words.every((word) => text.includes(word)) && !$("input", option).checked;
  }
});

document.addEventListener("themechange", drawAll);
drawAll();
