// Keeps the workers fresh while somebody looks at them, and carries out their buttons.
import { attempt, call, toast } from "./api.js";
import { keepAsking, partOf } from "./connection.js";
import { $ } from "./dom.js";
import { childrenLike } from "./morph.js";
import { showTimes } from "./times.js";

const EVERY_MS = 2000;
const root = $("#workers");

const refresh = keepAsking((signal) => partOf(root.dataset.source, signal), (html) => {
  childrenLike(root, new DOMParser().parseFromString(html, "text/html").body);
  showTimes();
}, EVERY_MS);

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
