// An agent's page: its curve, its evaluation episodes, and what its line trained with. Of an ensemble, which has no curve,
// the rest.
import { agentFollow } from "./agent_live.js";
import { attempt, call, toast } from "./api.js";
import { curveWords } from "./curve_words.js";
import { distributionShow } from "./distribution.js";
import { $, $$, h, json } from "./dom.js";
import { CONFIG, coloured, fitted } from "./figure.js";
import { scheduleShow } from "./schedule.js";
import { tabsStart } from "./tabs.js";

const { agent, curve: own, figure, schedule } = json("page");
const plot = $("[data-plot]");
const select = $("[data-column]");
let curve = own;
let from = "own";

// Plotly is there by then; the rest of the page does not wait for it.
const drawable = new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));

async function draw() {
  await drawable;
  const trace = { ...figure.data[0], x: curve.env_steps, y: curve[select.value] ?? [], name: select.selectedOptions[0].textContent };
  const layout = { ...figure.layout, xaxis: { ...figure.layout.xaxis, title: { ...figure.layout.xaxis.title, text: from === "own" ? "env steps of its round" : "env steps, ancestors' included" } } };
  plot.setAttribute("aria-label", curveWords(trace.name, trace.x, trace.y));
  return Plotly.react(plot, coloured([trace]), fitted(coloured(layout), plot), CONFIG);
}

// Answers where it was asked to begin, and the curve.
async function curveAsk(signal) {
  const begin = from;
  return [begin, plot && await call("GET", `/api/agents/${agent.id}/curve?points=500${begin === "ancestor" ? "&from=ancestor" : ""}`, undefined, signal)];
}

async function curveShow([begin, found]) {
  if (begin !== from) return; // the other one was chosen meanwhile
  curve = found;
  const known = new Set($$("option", select).map((option) => option.value));
  for (const name of Object.keys(curve)) {
    if (known.has(name) || name === "env_steps" || name === "seconds") continue;
    select.append(h("option", { value: name }, name.replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase())));
  }
  await draw();
}

select?.addEventListener("change", draw);
for (const group of $$("[data-seg=from]")) {
  group.addEventListener("click", async (event) => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    for (const button of $$("button", group)) button.setAttribute("aria-pressed", String(button === chosen));
    from = chosen.value;
    const csv = new URL($("[data-csv]").href);
    csv.searchParams.set("from", from === "ancestor" ? "ancestor" : "self");
    $("[data-csv]").href = csv.href;
    await attempt(async () => curveShow(await curveAsk()));
  });
}
for (const list of $$("[data-tabs]")) {
  tabsStart(list, (_, shown) => {
    for (const video of $$("[role=tabpanel] video")) if (!shown.contains(video)) video.pause();
  });
}

// Exports and replays ask for themselves by htmx while they are made.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, pathInfo } = event.detail;
  if (new URL(xhr.responseURL).pathname === pathInfo.requestPath) return;
  event.detail.shouldSwap = false; // signed out: the answer is the sign-in page
  location.reload();
});
document.addEventListener("htmx:responseError", ({ detail: { xhr, requestConfig } }) => {
  if (requestConfig.verb === "post") toast(xhr.status === 409 ? xhr.responseText : `The server answered ${xhr.status}.`, "bad");
});
document.addEventListener("htmx:sendError", ({ detail: { requestConfig } }) => {
  if (requestConfig.verb === "post") toast("The server does not answer. Is Podracer still running?", "bad");
});
document.addEventListener("htmx:afterSwap", ({ detail: { requestConfig, target } }) => {
  // The button that had the focus is gone.
  if (requestConfig.verb === "post") document.getElementById(target.id)?.focus({ preventScroll: true });
});
if ($("[data-returns]")) distributionShow($("[data-returns]"), agent);
if (schedule) scheduleShow($("[data-schedule]"), $("[data-schedule-sentence]"), schedule);
if (plot) {
  document.addEventListener("themechange", draw);
  draw();
}

// What an ensemble's page has beside these.
const ensemble = `/api/tournaments/${agent.tournament}/ensembles/${agent.id}`;
$("[data-retry]")?.addEventListener("click", async ({ target }) => {
  target.disabled = true;
  if (await attempt(() => call("POST", `${ensemble}/retry`))) location.reload();
  target.disabled = false;
});
$("[data-remove]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await attempt(() => call("DELETE", ensemble))) location.assign(`/tournaments/${agent.tournament}/`);
});

if (["RUNNING", "QUEUED"].includes(agent.status)) agentFollow(agent, curveAsk, curveShow);
