// An agent's page: its curve, and its evaluation episodes as dots. Of an ensemble, which has no curve, the rest.
import { attempt, call, toast } from "./api.js";
import { $, $$, h, json, s } from "./dom.js";
import { CONFIG, coloured, fitted } from "./figure.js";
import { number } from "./format.js";

const REFRESH_MS = 2000;
const { agent, curve: own, figure } = json("page");
const plot = $("[data-plot]");
const select = $("[data-column]");
let curve = own;
let from = "own";

function draw() {
  const trace = { ...figure.data[0], x: curve.env_steps, y: curve[select.value] ?? [], name: select.selectedOptions[0].textContent };
  const layout = { ...figure.layout, xaxis: { ...figure.layout.xaxis, title: { ...figure.layout.xaxis.title, text: from === "own" ? "env steps of its round" : "env steps, ancestors' included" } } };
  return Plotly.react(plot, coloured([trace]), fitted(coloured(layout), plot), CONFIG);
}

async function load() {
  curve = await call("GET", `/api/agents/${agent.id}/curve?points=500${from === "ancestor" ? "&from=ancestor" : ""}`);
  const known = new Set($$("option", select).map((option) => option.value));
  for (const name of Object.keys(curve)) {
    if (known.has(name) || name === "env_steps" || name === "seconds") continue;
    select.append(h("option", { value: name }, name.replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase())));
  }
  await draw();
}

const LEVELS = 8;

// Equal returns are one stack; side by side they can be counted.
function spread(count, middle) {
  const columns = Math.ceil(count / LEVELS);
  return Array.from({ length: count }, (_, index) => ({
    column: middle + Math.floor(index / LEVELS) - (columns - 1) / 2, level: index % LEVELS,
  }));
}

// Each episode a dot, stacked where returns agree; the band is the score's interval, the line the score.
function strip(returns) {
  const width = 640;
  const height = 110;
  const base = 84;
  const known = returns.filter(Number.isFinite);
  const lowest = Math.min(...known, agent.score_low ?? Infinity);
  const highest = Math.max(...known, agent.score_high ?? -Infinity);
  const flat = highest === lowest;
  const padding = flat ? Math.max(1, Math.abs(lowest) / 10) : 0;
  const low = lowest - padding;
  const high = highest + padding;
  const at = (value) => 12 + ((width - 24) * (value - low)) / (high - low);
  const stacks = new Map();
  const side = flat ? spread(known.length, at(lowest) / 9) : [];
  const dots = known.map((value, index) => {
    if (flat) return { ...side[index], value };
    const column = Math.round(at(value) / 9);
    const level = stacks.get(column) ?? 0;
    stacks.set(column, level + 1);
    return { column, level, value };
  });
  const step = flat ? 9 : Math.min(9, (base - 12) / Math.max(...stacks.values()));
  return s("svg", { class: "strip", viewBox: `0 0 ${width} ${height}`, role: "img", style: "height: auto",
    "aria-label": `${known.length} episodes, returns from ${number(Math.min(...known))} to ${number(Math.max(...known))}` },
  agent.score_low !== null && s("rect", { x: at(agent.score_low), y: 4, width: Math.max(2, at(agent.score_high) - at(agent.score_low)), height: base + 4, fill: "var(--accent)", opacity: 0.13 }),
  agent.score !== null && s("line", { x1: at(agent.score), x2: at(agent.score), y1: 4, y2: base + 8, stroke: "var(--accent)", "stroke-width": 2 }),
  s("line", { x1: 0, x2: width, y1: base + 8, y2: base + 8, stroke: "var(--line)" }),
  dots.map(({ column, level, value }) => s("circle", { cx: column * 9, cy: base - level * step, r: 3.6, fill: "var(--ink)", opacity: 0.72 }, s("title", {}, number(value)))),
  s("text", { x: 0, y: height - 2, "font-size": 12, fill: "var(--muted)", "text-anchor": "start" }, number(low)),
  flat && s("text", { x: width / 2, y: height - 2, "font-size": 12, fill: "var(--ink)", "text-anchor": "middle" }, `every episode: ${number(lowest)}`),
  s("text", { x: width, y: height - 2, "font-size": 12, fill: "var(--muted)", "text-anchor": "end" }, number(high)));
}

select?.addEventListener("change", draw);
for (const group of $$("[data-seg=from]")) {
  group.addEventListener("click", async (event) => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    for (const button of $$("button", group)) button.setAttribute("aria-pressed", String(button === chosen));
    from = chosen.value;
    await load();
  });
}
// Tabs as the ARIA practices have them: arrows move, one is in the tab order.
for (const list of $$("[data-tabs]")) {
  const tabs = $$("[role=tab]", list);
  const choose = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute("aria-controls"));
      panel.hidden = tab !== chosen;
      if (panel.hidden) $("video", panel)?.pause();
    }
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
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
$("[data-returns]")?.append(strip(agent.returns));
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

if (["RUNNING", "QUEUED"].includes(agent.status)) {
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const now = await call("GET", `/api/agents/${agent.id}`);
      // Finished: score, episodes and checkpoint are there now.
      if (now.status !== agent.status) location.reload();
      else if (plot) await load();
    } catch {
      // The server is away; the next round tries again.
    }
  }, REFRESH_MS);
}
