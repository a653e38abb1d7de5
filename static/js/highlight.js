// Some agents, mostly one, stand out wherever they are on the page: in whatever names them in data-agents, and by their
// curves. A rule of its own does it, so that rows which are drawn anew need not be told.

import { isTouch } from "./touch.js";

const sheet = new CSSStyleSheet();
document.adoptedStyleSheets.push(sheet);
let current = "";

// agents: ids, or null for none
export function highlight(agents) {
  const now = agents?.join() ?? "";
  if (now === current) return;
  current = now;
  const named = agents?.map((agent) => `[data-agents~="${CSS.escape(agent)}"]`).join();
  sheet.replaceSync(named ? `:is(${named}) { background-color: var(--hot); }` : "");
  document.dispatchEvent(new CustomEvent("agenthighlight", { detail: agents }));
}

const agentsOf = (element) => element.closest("[data-agents]")?.dataset.agents.split(" ") ?? null;

// The plot says itself which agent is pointed at.
function follow(event) {
  if (!event.target.closest("[data-plot]")) highlight(agentsOf(event.target));
}

document.addEventListener("pointerover", follow);
document.addEventListener("focusin", follow);
document.addEventListener("focusout", ({ target }) => agentsOf(target)?.join() === current && highlight(null));
document.documentElement.addEventListener("pointerleave", (event) => isTouch(event) || highlight(null));
