// The controls above the curves: what they show and what they change.
import { insteadOf } from "./curves-nothing.js";
import { $, $$, setText } from "./dom.js";

const NAMES = { steps: "Steps", time: "Time", depth: "Descent", all: "all pods", board: "the board", best: "best", band: "band" };

export function toolsStart(root, curves) {
  const smoothing = $("[data-smoothing]", root);
  const fold = $("[data-curve-fold]");

  const show = () => {
    const { view, zoom, zoomY } = curves;
    for (const group of $$("[data-seg]", root)) {
      for (const button of $$("button", group)) button.setAttribute("aria-pressed", String(view[group.dataset.seg] === button.value));
    }
    for (const button of $$("[data-switch]", root)) button.setAttribute("aria-pressed", String(view[button.dataset.switch] === button.value));
    $("[data-band]", root).hidden = view.pods !== "band";
    smoothing.value = view.smoothing;
    setText($("[data-smoothing-value]", root), view.smoothing ? view.smoothing.toFixed(2) : "off");
    $("[data-zoom-reset]").hidden = !(zoom || zoomY);
    setText($("[data-curve-fold-text]"), `${NAMES[view.axis]}, ${NAMES[view.pods]}`);
  };

  root.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const name = button?.closest("[data-seg]")?.dataset.seg;
    if (name) curves.setView({ [name]: button.value });
    const { switch: switched } = button?.dataset ?? {};
    if (switched) curves.setView({ [switched]: curves.view[switched] === button.value ? button.dataset.other : button.value });
  });
  curves.element.addEventListener("click", ({ target }) => {
    const way = target.closest("button");
    if (!way) return;
    curves.setView(insteadOf(way.value));
    curves.element.focus({ preventScroll: true });
  });
  smoothing.addEventListener("input", () => curves.setView({ smoothing: Number(smoothing.value) }));
  $("[data-zoom-reset]").addEventListener("click", () => {
    curves.setZoom(null);
    curves.element.focus({ preventScroll: true });
  });
  fold.addEventListener("click", () => fold.setAttribute("aria-expanded", String(root.classList.toggle("open"))));
  curves.element.addEventListener("viewchange", show);
  show();
}
