// The live page of a tournament: the store, its socket, and the parts that draw it.
import { Board } from "./board.js";
import { call } from "./api.js";
import { lostHide, lostShow } from "./connection.js";
import { controlsStart } from "./controls.js";
import { Pointer } from "./curves-pointer.js";
import { toolsStart } from "./curves-tools.js";
import { Curves } from "./curves.js";
import { $, json, setText } from "./dom.js";
import { Ensembles } from "./ensembles.js";
import { freeingStart } from "./freeing.js";
import { Insights } from "./insights.js";
import { Pods } from "./pods.js";
import { sharingStart } from "./sharing.js";
import { LiveSocket } from "./socket.js";
import { Store } from "./store.js";
import { Events, lineShow } from "./story.js";
import { summaryShow, whenText } from "./summary.js";

const TABLES_EVERY_MS = 250;
const CLOCK_MS = 1_000;

// For measurements: milliseconds from a point leaving its pod to its being drawn, of the last 500 messages; what is drawn.
window.podracer = { latencies: [], get curves() { return curves; } };

const store = new Store(json("snapshot"));
const curves = new Curves($("[data-plot]"), store);
toolsStart($("[data-curve-tools]"), curves);
new Pointer(curves, (agent) => store.nameOf(agent));
const board = new Board($("table.board"), { empty: $("[data-board-empty]"), more: $("[data-board-more]"),
  tools: $("[data-board-tools]"), count: $("[data-board-count]") });
const insights = new Insights($("[data-insights]"), { onSieve: (agents) => board.sieve(agents) });
const ensembles = new Ensembles($("[data-ensemble]"), $("[data-making]"), `/api/tournaments/${store.tournament.id}`);
const pods = new Pods($("[data-pod-rows]"), $("[data-pods-empty]"), $("[data-pods-all]"));
const events = new Events($("[data-events]"), $("[data-events-all]"));
const sizeShow = controlsStart(store, (tournament) => {
  store.tournament = tournament;
  changed(["tournament"]);
});

sharingStart(store.tournament.id);
freeingStart(store.tournament.id);

// Tables are drawn a few times a second at most, and not at all while nobody looks.
const dirty = new Set();
let waiting = false;
let boardOf = "";

function changed(parts) {
  for (const part of parts) dirty.add(part);
  if (waiting || document.hidden || !dirty.size) return;
  waiting = true;
  requestAnimationFrame(() => {
    show();
    setTimeout(() => {
      waiting = false;
      changed([]);
    }, TABLES_EVERY_MS);
  });
}

function show() {
  if (dirty.has("tournament")) {
    summaryShow(store.tournament, [...store.pods.values()]);
    sizeShow();
    lineageFollow();
    curvesShow();
  }
  const { status, target_score: target } = store.tournament;
  // Points alone change the tournament ten times a second, and nothing of the board.
  if (dirty.has("leaderboard") || boardOf !== `${status} ${target}`) board.render(store.leaderboard, store.tournament);
  boardOf = `${status} ${target}`;
  if (dirty.has("leaderboard")) ensembles.render(store);
  if (["pods", "leaderboard", "tournament"].some((part) => dirty.has(part))) pods.render(store);
  if (dirty.has("events")) events.render(store.events);
  if (dirty.has("insights")) insights.changed();
  dirty.clear();
}

// Axes without a line say nothing: a sentence stands in for them, unless lines are about to come.
function curvesShow() {
  const { status } = store.tournament;
  const empty = $("[data-curves-empty]");
  empty.hidden = store.curves.size > 0 || status === "RUNNING" || !(store.complete || status === "DRAFT");
  setText(empty, status === "DRAFT" ? "The curves grow here once the tournament has started." : "No pod has left a curve.");
  $("[data-curve-tools]").hidden = !empty.hidden;
  curves.setShown(empty.hidden);
}

// The line of descent is asked for when there is a new champion.
let champion = store.tournament.best_agent;
lineShow($("[data-line]"), $("[data-lineage-sentence]"), json("ancestry"));

async function lineageFollow() {
  const best = store.tournament.best_agent;
  if (best === champion) return;
  champion = best;
  try {
    const ancestry = best ? (await call("GET", `/api/agents/${best}`)).ancestry : [];
    if (best === champion) lineShow($("[data-line]"), $("[data-lineage-sentence]"), ancestry);
  } catch {
    champion = null; // asked again with the next status
  }
}

// What the consumer closes a socket with, where trying again cannot help.
const FINAL = {
  4401: "You are signed out: reload the page to sign in again.",
  4403: "This tournament is not shared with you any more; what you see is not kept up to date.",
  4404: "This tournament was deleted.",
};

function lost(code) {
  lostShow(FINAL[code]);
  if (FINAL[code]) socket.end();
}

// Where sockets do not get through, there are curves all the same.
async function curvesLoad() {
  try {
    const { curves: found } = await call("GET", `/api/tournaments/${store.tournament.id}/curves`);
    if (store.complete) return;
    store.curvesTake(found);
    curves.changed();
    changed(["tournament"]);
  } catch {
    // Asked again when the next try fails.
  }
}

const socket = new LiveSocket(`/ws/tournaments/${store.tournament.id}/`, {
  onMessage(message) {
    if (message.data.status === "DELETED") {
      lost(4404);
      return;
    }
    const { revision } = store.tournament;
    const parts = store.apply(message);
    // A pod began or ended; its points are no news to the insights.
    const news = message.type === "pod" ? parts.includes("curves") : message.type === "snapshot" && store.tournament.revision !== revision;
    if (news) changed(["insights"]);
    if (parts.includes("points")) curves.grow(message.data.sent_at);
    if (parts.includes("curves")) curves.changed();
    changed(parts.filter((part) => part !== "points" && part !== "curves"));
  },
  onState(connected, tell, code) {
    if (!connected && !store.complete) curvesLoad();
    if (connected) lostHide();
    else if (tell || FINAL[code]) lost(code);
  },
});

document.addEventListener("visibilitychange", () => changed([]));
setInterval(() => document.hidden || setText($("[data-when]"), whenText(store.tournament)), CLOCK_MS);
changed(["tournament", "leaderboard", "pods", "events"]);
