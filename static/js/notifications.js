// The page of notifications: what this browser shows, and the webhooks while something is on its way to them.
import { $, setText } from "./dom.js";
import { childrenLike } from "./morph.js";
import { allowed, permit, possible, show, want, wish } from "./notices.js";
import { showTimes } from "./times.js";

const EVERY_MS = 1000;
const card = $("[data-browser]");
const state = $("[data-browser-state]", card);
const attempt = $("[data-browser-try]", card);
const boxes = { mine: $('[name="mine"]', card), all: $('[name="all"]', card) };
const hint = state.textContent;

function draw() {
  const now = wish();
  const usable = possible && Notification.permission !== "denied";
  boxes.mine.checked = usable && allowed() && (now.mine || now.all);
  boxes.all.checked = usable && allowed() && now.all;
  boxes.mine.disabled = !usable || boxes.all.checked;
  boxes.all.disabled = attempt.disabled = !usable;
}

async function permitted() {
  const problem = await permit();
  setText(state, problem || hint);
  return !problem;
}

for (const [name, box] of Object.entries(boxes)) {
  box.addEventListener("change", async () => {
    const { checked } = box;
    if (!checked || (await permitted())) want({ [name]: checked });
    draw();
  });
}
attempt.addEventListener("click", async () => {
  if (await permitted()) show("Podracer", "So it looks when a tournament ends.", "podracer-test");
  draw();
});
addEventListener("storage", draw);
draw();
if (!possible || Notification.permission === "denied") permitted();

const table = $("[data-webhooks]");

async function refresh() {
  if (document.hidden || !$("[data-pending]", table)) return;
  try {
    const response = await fetch(table.dataset.source);
    if (response.redirected || !response.ok) return;
    const next = document.createElement("table");
    next.append($("caption", table).cloneNode(true));
    // Parsed as a document of its own, in which nothing runs.
    const parsed = new DOMParser().parseFromString(`<table>${await response.text()}</table>`, "text/html");
    next.append(...$("table", parsed).children);
    childrenLike(table, next);
    showTimes();
  } catch {
    // The server is away; the next round tries again.
  }
}

setInterval(refresh, EVERY_MS);
