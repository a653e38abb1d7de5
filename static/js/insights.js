// Lineage, hyperparameters and slots under tabs. Each is asked for when it is first seen, and again after pods began or
// ended while it is; nothing is asked for while nobody looks.
import { ApiError, call } from "./api.js";
import { $, $$, address, h, setText } from "./dom.js";
import { number, plural } from "./format.js";
import { Gantt, slotsNote, slotsSentence, slotsShow } from "./gantt.js";
import { highlight } from "./highlight.js";
import { importanceShow } from "./importance.js";
import { Lineage } from "./lineage.js";
import { Parallel } from "./parallel.js";
import { rowsOf } from "./scales.js";
import { scheduleShow } from "./schedule.js";
import { tabsStart } from "./tabs.js";

const EVERY_MS = 5_000;
const CLOCK_MS = 1_000;
const SHORT = 80;
const PARTS = ["lineage", "hyperparameters", "slots"];

export class Insights {
  // onSieve(Set of agents or null): who of them the board is to show.
  constructor(root, { onSieve }) {
    this.root = root;
    this.onSieve = onSieve;
    this.chosen = "lineage";
    this.stale = new Set(PARTS);
    this.resting = new Set();
    this.lineage = new Lineage($("[data-tree-plot]", root), highlight);
    this.parallel = new Parallel($("[data-parallel-plot]", root), highlight, (rows, of) => this.brushed(rows, of));
    this.gantt = new Gantt($("[data-gantt-plot]", root), highlight);
    this.lineage.onChange = () => this.treeCount();
    document.addEventListener("agenthighlight", ({ detail }) => this.highlight(detail));
    tabsStart($("[data-tabs]", root), (tab, panel) => {
      this.chosen = panel.dataset.panel;
      this.load();
    });
    this.toolsStart();
    new IntersectionObserver(([entry]) => {
      this.seen = entry.isIntersecting;
      this.load();
    }, { rootMargin: "200px" }).observe(root);
    document.addEventListener("visibilitychange", () => this.load());
    setInterval(() => this.live && this.looked && this.chosen === "slots" && this.gantt.redraw(), CLOCK_MS);
  }

  get looked() {
    return this.seen && !document.hidden;
  }

  highlight(agents) {
    for (const chart of [this.lineage, this.parallel, this.gantt]) chart.highlight(agents);
  }

  // Pods began or ended.
  changed() {
    for (const part of PARTS) this.stale.add(part);
    this.load();
  }

  async load() {
    const part = this.chosen;
    if (!this.looked || this.resting.has(part) || !this.stale.has(part)) return;
    this.stale.delete(part);
    this.resting.add(part);
    try {
      const data = await call("GET", `${this.root.dataset.source}/${part}`);
      this[`${part}Show`](data);
      this.problem("");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.stale.add(part);
      this.problem(error.message);
    }
    setTimeout(() => {
      this.resting.delete(part);
      this.load();
    }, EVERY_MS);
  }

  problem(message) {
    const place = $("[data-insights-problem]", this.root);
    setText(place, message);
    place.hidden = !message;
  }

  // Of what has nothing to draw yet the sentence alone is shown.
  there(chart, some) {
    for (const part of ["tools", "figure"]) $(`[data-${chart}-${part}]`, this.root).hidden = !some;
  }

  // Lineage

  lineageShow({ champion, agents }) {
    const rows = rowsOf(agents);
    const now = Math.max(0, ...rows.flatMap((row) => [row.began ?? 0, row.ended ?? 0]));
    if (this.lineage.shows === null) this.treeView("shows", rows.length > SHORT && champion ? "lines" : "all");
    this.there("tree", rows.length);
    this.lineage.setData(rows, champion, now);
    this.treeCount();
  }

  treeCount() {
    const [shown, all] = this.lineage.shown;
    setText($("[data-tree-count]", this.root), all ? (shown === all ? plural(all, "agent") : `${shown} of ${plural(all, "agent")}`) : "");
  }

  treeView(name, value) {
    for (const button of $$(`[data-tree=${name}] button`, this.root)) button.setAttribute("aria-pressed", String(button.value === value));
    this.lineage.setView(name, value);
    this.treeCount();
  }

  toolsStart() {
    this.root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      const tree = button?.closest("[data-tree]");
      const zoom = button?.closest("[data-zoom]");
      if (tree) this.treeView(tree.dataset.tree, button.value);
      if (zoom) this[zoom.dataset.zoom][button.value]();
      if (button?.closest("[data-algorithms]")) this.algorithmShow(button.value);
      if (button && "clear" in button.dataset) this.parallel.clear();
    });
  }

  // Hyperparameters

  hyperparametersShow({ algorithms, schedule }) {
    this.algorithms = algorithms;
    const names = algorithms.map((one) => one.name);
    const group = $("[data-algorithms]", this.root);
    $("[data-algorithm-tools]", this.root).hidden = names.length < 2;
    if (group.children.length !== names.length) {
      group.replaceChildren(...names.map((name) => h("button", { type: "button", value: name, "aria-pressed": "false" }, name)));
    }
    const largest = algorithms.reduce((a, b) => (!a || b.agents.id.length > a.agents.id.length ? b : a), null);
    this.algorithmShow(names.includes(this.algorithm) ? this.algorithm : largest?.name);
    scheduleShow($("[data-schedule]", this.root), $("[data-schedule-sentence]", this.root), schedule);
  }

  algorithmShow(name) {
    const one = this.algorithms.find((item) => item.name === name);
    this.algorithm = name;
    for (const button of $$("[data-algorithms] button", this.root)) button.setAttribute("aria-pressed", String(button.value === name));
    const plot = $("[data-parallel-plot]", this.root).closest("figure");
    plot.hidden = !one?.axes.length;
    if (one?.axes.length) this.parallel.setData({ name, agents: rowsOf(one.agents), axes: one.axes });
    else setText($("[data-parallel-sentence]", this.root), one ? "All agents were given the same hyperparameters." : "A line for each agent, once there are some.");
    const nothing = { problem: "Needs scored agents of several founders; there is none yet.", items: [] };
    importanceShow($("[data-importance]", this.root), $("[data-importance-note]", this.root), one?.importance ?? nothing);
    $("[data-importance-how]", this.root).hidden = !one?.importance.items.length;
  }

  brushed(rows, of) {
    const sentence = $("[data-parallel-sentence]", this.root);
    this.onSieve(rows && new Set(rows.map((row) => row.id)), this.algorithm);
    if (!rows) {
      setText(sentence, `${plural(of, "agent")} of ${this.algorithm}, each a line from what it was given to its score.`);
      return;
    }
    const best = rows.filter((row) => row.score !== null).slice(-3).reverse();
    sentence.replaceChildren(`${rows.length} of ${plural(of, "agent")} in the marked ranges${best.length ? ", best " : ""}`,
      ...best.flatMap((row, index) => [index ? ", " : "", h("a", { href: address(`/agents/${row.id}/`) }, row.name), ` ${number(row.score)}`]),
      " ", h("button", { type: "button", class: "quiet small", "data-clear": true }, "Clear"));
  }

  // Slots

  slotsShow(data) {
    this.live = data.live;
    slotsShow($("[data-slot-names]", this.root), $("[data-slot-shares]", this.root), data);
    this.there("gantt", data.slots.worker.length);
    setText($("[data-slots-sentence]", this.root), slotsSentence(data));
    setText($("[data-slots-note]", this.root), data.slots.worker.length ? slotsNote(data) : "");
    this.gantt.setData(data);
  }
}
