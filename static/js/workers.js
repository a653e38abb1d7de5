// Keeps the workers fresh while somebody looks at them, and carries out their buttons.
import { attempt, call, toast } from "./api.js";
import { $ } from "./dom.js";
import { childrenLike } from "./morph.js";
import { showTimes } from "./times.js";

const EVERY_MS = 2000;
const root = $("#workers");
const banner = $("[data-connection]");
let asked = 0;

async function refresh() {
  if (document.hidden) return;
  const mine = ++asked;
  try {
    const response = await fetch(root.dataset.source);
    if (response.redirected) location.reload(); // signed out
    if (!response.ok) throw new Error(response.statusText);
    const next = new DOMParser().parseFromString(await response.text(), "text/html").body;
    if (mine !== asked) return; // one that was asked later has said more
    childrenLike(root, next);
    showTimes();
    banner.hidden = true;
  } catch {
    banner.hidden = false;
  }
}

root.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-call]");
  if (!button) return;
  const { call: path, method } = button.dataset;
  const now = "now" in button.dataset;
  button.disabled = true;
  const done = await attempt(() => call(method, path, path.endsWith("/drain") ? { now } : undefined));
  button.disabled = false;
  if (done && now) toast("Its pods save their state and go on elsewhere.");
  await refresh();
});

setInterval(refresh, EVERY_MS);
document.addEventListener("visibilitychange", refresh);
