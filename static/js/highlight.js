// One agent stands out wherever it is on the page: in whatever carries data-agent, and by its curve.
// A rule of its own does it, so that rows which are drawn anew need not be told.

const sheet = new CSSStyleSheet();
document.adoptedStyleSheets.push(sheet);
let current = null;

export function highlight(agent) {
  if (agent === current) return;
  current = agent;
  sheet.replaceSync(agent ? `[data-agent="${CSS.escape(agent)}"] { background-color: var(--hot); }` : "");
  document.dispatchEvent(new CustomEvent("agenthighlight", { detail: agent }));
}

// The plot says itself which agent is pointed at.
function follow(event) {
  if (!event.target.closest("[data-plot]")) highlight(event.target.closest("[data-agent]")?.dataset.agent ?? null);
}

document.addEventListener("pointerover", follow);
document.addEventListener("focusin", follow);
document.addEventListener("focusout", () => highlight(null));
document.documentElement.addEventListener("pointerleave", () => highlight(null));
