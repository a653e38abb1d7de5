// Ticks tournaments in the list, and agents on a leaderboard, among pods or on their own page, and takes them to the page
// that compares them.
// What is ticked is kept while the tab lives, so that it can be gathered from several pages.
import { $, $$, h } from "./dom.js";

const KEPT = "compare";
const MOST = 50;
const MOST_APART = 10; // more only make sense as repetitions

function kept() {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(KEPT) ?? "[]"));
  } catch {
    return new Map();
  }
}

const chosen = kept();
const summary = h("span", { role: "status" });
const go = h("a", { class: "button primary" }, "Compare");
const clear = h("button", { type: "button" }, "Clear");
const bar = h("section", { class: "chosen-bar", "aria-label": "Chosen to compare", hidden: true }, summary, go, clear);
document.body.append(bar);

const address = () => `/compare/?${[...chosen.keys()].map((key) => `${key[0]}=${key.slice(1)}`).join("&")}${chosen.size > MOST_APART ? "&group=spec" : ""}`;

function show() {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify([...chosen]));
  } catch {
    // It lasts until the page is left, then.
  }
  bar.hidden = !chosen.size;
  summary.textContent = `${chosen.size} chosen: ${[...chosen.values()].join(", ")}`;
  go.href = address();
  for (const box of $$("input[data-choose]")) {
    box.checked = chosen.has(box.dataset.choose);
    const full = !box.checked && chosen.size >= MOST;
    if (box.disabled !== full) box.disabled = full; // what is set is heard below, whether or not it changes
  }
}

// Rows of a leaderboard are made anew whenever it changes; each gets its box again before it is painted, and the box
// that had the focus has it again.
let lost = null;

function boxes() {
  const focused = document.activeElement?.dataset?.choose ?? lost;
  for (const row of $$("[data-board] tr[data-agent]")) {
    const name = $(".name", row);
    if ($("input[data-choose]", row) || !name) continue;
    const label = `${name.textContent} of ${$("[data-name]")?.textContent ?? ""}`;
    const box = h("input", { type: "checkbox", class: "choose-box", "data-choose": `a${row.dataset.agent}`,
      "data-label": label, "aria-label": `Compare ${name.textContent}` });
    name.parentElement.prepend(box);
  }
  show();
  if (focused && document.activeElement === document.body) {
    $(`input[data-choose="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

// Rows of pods come with their boxes, and become other agents' in place: what is ticked and the focus go on with the agent.
function follow() {
  show();
  const { activeElement: active } = document;
  if (!lost || !active.dataset.choose || active.dataset.choose === lost) return;
  $(`input[data-choose="${CSS.escape(lost)}"]`, active.closest("tbody") ?? document)?.focus({ preventScroll: true });
}

document.addEventListener("pointerdown", () => (lost = null));
document.addEventListener("focusin", ({ target }) => (lost = target.dataset?.choose ?? null));
document.addEventListener("change", ({ target }) => {
  const key = target.dataset?.choose;
  if (!key) return;
  if (target.checked) chosen.set(key, target.dataset.label);
  else chosen.delete(key);
  show();
});
clear.addEventListener("click", () => {
  chosen.clear();
  show();
});

// What was chosen has come where it was to go; the page ends above the bar, however many lines that has.
go.addEventListener("click", () => sessionStorage.removeItem(KEPT));
new ResizeObserver(() => document.body.style.setProperty("--chosen-bar", `${bar.offsetHeight}px`)).observe(bar);

for (const root of $$("[data-board], #cards")) new MutationObserver(boxes).observe(root, { childList: true, subtree: root.id === "cards" });
for (const root of $$("[data-pod-rows]")) {
  new MutationObserver(follow).observe(root, { childList: true, subtree: true, attributeFilter: ["data-choose", "disabled"] });
}
boxes();
