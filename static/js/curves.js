// The learning curves: drawn by Plotly from what the server prepared, then grown in place.
// Builds the same traces as webapp/tournaments/charts.py.
import { CONFIG, coloured, fitted } from "./figure.js";

const GHOST_POINTS = 60;
const DRAW_EVERY_MS = 100;
const REBUILD_EVERY_MS = 400;
const KEPT_LATENCIES = 500;
const AXIS_TITLES = { steps: "env steps, ancestors' included", time: "seconds since the start" };
const LOG_TICKS = { steps: "~s", time: ",~g" };
const HOVER = "<b>%{fullData.name}</b><br>%{y:,.4~g} at %{x:,.4~s}<extra></extra>";

const line = (color, width) => ({
  type: "scatter", mode: "lines", line: { color, width }, connectgaps: false, hovertemplate: HOVER,
});

// Ticks at 1, 2 and 5 of each power of ten, written out: 0.5, 1, 2, 5, 10. On a phone Plotly thins them out.
const logTicks = (axis, element) => ({
  tickformat: LOG_TICKS[axis], ...(element.clientWidth < 480 ? { nticks: 3 } : { dtick: "D2" }),
});

export class Curves {
  constructor(element, store, figure) {
    this.element = element;
    this.store = store;
    this.layout = figure.layout;
    this.view = { axis: "steps", scale: "linear", pods: "all" };
    this.pending = new Map();
    this.sent = [];
    this.stale = false;
    this.lastDraw = 0;
    this.lastRebuild = 0;
    this.busy = true;
    this.first(figure);
    document.addEventListener("themechange", () => this.rebuild());
    document.addEventListener("visibilitychange", () => this.schedule());
  }

  async first(figure) {
    this.traces = figure.data;
    await Plotly.newPlot(this.element, coloured(figure.data), this.laidOut(), CONFIG);
    this.element.on("plotly_click", ({ points }) => {
      const agent = points[0]?.data.meta?.agent;
      if (agent) location.assign(`/agents/${agent}/`);
    });
    this.busy = false;
    this.schedule();
  }

  laidOut() {
    const { axis, scale } = this.view;
    const target = this.store.tournament.target_score;
    const layout = coloured(this.layout);
    layout.xaxis = { ...layout.xaxis, type: scale, rangemode: scale === "log" ? "normal" : "tozero" };
    layout.xaxis.title = { ...layout.xaxis.title, text: AXIS_TITLES[axis] };
    layout.uirevision = `${axis} ${scale}`;
    if (target === null) delete layout.shapes;
    const fit = fitted(layout, this.element);
    return scale === "log" ? { ...fit, xaxis: { ...fit.xaxis, ...logTicks(axis, this.element) } } : fit;
  }

  // Plotly measures nothing that is hidden: once it is seen, it fits itself in.
  setShown(shown) {
    const figure = this.element.closest("figure");
    if (figure.hidden === !shown) return;
    figure.hidden = !shown;
    if (shown && !this.busy) this.rebuild();
    if (shown && this.element.data) Plotly.Plots.resize(this.element);
  }

  setView(name, value) {
    this.view[name] = value;
    this.lastRebuild = 0;
    this.rebuild();
  }

  xy(agent, curve = this.store.curves.get(agent)) {
    if (!curve) return { x: [], y: [] };
    const pod = this.store.podOfAgent.get(agent);
    const steps = this.view.axis === "steps";
    const offset = (steps ? pod?.base_env_steps : pod?.start_seconds) ?? 0;
    return { x: curve[steps ? "env_steps" : "seconds"].map((value) => offset + (value ?? 0)), y: curve.episodic_return };
  }

  build() {
    const board = new Map(this.store.ranked.map((item) => [item.agent, item]));
    const running = [...this.store.pods.values()].filter((pod) => pod.status === "RUNNING" && !board.has(pod.agent));
    const live = new Set(running.map((pod) => pod.agent));
    const traces = [this.ghosts([...this.store.curves.keys()].filter((agent) => !board.has(agent) && !live.has(agent)))];
    for (const pod of running) {
      const { x, y } = this.xy(pod.agent);
      traces.push({ ...line("--running", 1.6), x: [...x], y: [...y], name: `${pod.agent_name} (training)`,
        meta: { role: "running", agent: pod.agent } });
    }
    for (const item of [...board.values()].reverse()) {
      const { x, y } = this.xy(item.agent);
      traces.push({ ...line(`--chip-${item.color % 12}`, item.rank === 1 ? 2.6 : 2), x: [...x], y: [...y],
        name: `${item.rank} ${item.name}`, meta: { role: "board", agent: item.agent } });
    }
    traces.push(this.heads(board));
    return traces;
  }

  // A dot where each line of the board ends.
  heads(board) {
    const ends = [...board.values()].map((item) => {
      const { x, y } = this.xy(item.agent);
      const last = y.findLastIndex((value) => value !== null);
      return { x: x[last] ?? null, y: y[last] ?? null, color: `--chip-${item.color % 12}` };
    });
    return { type: "scatter", mode: "markers", hoverinfo: "skip", x: ends.map((end) => end.x), y: ends.map((end) => end.y),
      marker: { size: 7, color: ends.map((end) => end.color) }, meta: { role: "heads" } };
  }

  ghosts(agents) {
    const x = [];
    const y = [];
    for (const agent of this.view.pods === "all" ? agents : []) {
      const points = this.xy(agent);
      const every = Math.max(1, Math.floor(points.x.length / GHOST_POINTS));
      points.x.forEach((value, index) => {
        if (index % every && index !== points.x.length - 1) return;
        x.push(value);
        y.push(points.y[index]);
      });
      x.push(null);
      y.push(null);
    }
    return { ...line("--ghost", 1), x, y, name: "other pods", hoverinfo: "skip", hovertemplate: null, meta: { role: "ghosts" } };
  }

  // New points of a curve message: drawn with the next frame.
  extend(agent, added, sentAt) {
    const waiting = this.pending.get(agent) ?? { env_steps: [], seconds: [], episodic_return: [] };
    for (const [name, values] of Object.entries(added)) waiting[name].push(...values);
    this.pending.set(agent, waiting);
    if (sentAt) this.sent.push(sentAt);
    this.schedule();
  }

  rebuild() {
    this.stale = true;
    this.schedule();
  }

  schedule() {
    if (this.busy || this.frame || document.hidden || !(this.stale || this.pending.size)) return;
    const wait = (this.stale && !this.pending.size ? this.lastRebuild + REBUILD_EVERY_MS : this.lastDraw + DRAW_EVERY_MS)
      - performance.now();
    this.frame = true;
    setTimeout(() => requestAnimationFrame(() => this.draw()), Math.max(0, wait));
  }

  async draw() {
    this.frame = false;
    this.busy = true;
    const sent = this.sent.splice(0);
    this.lastDraw = performance.now();
    const missing = [...this.pending.keys()].some((agent) => this.index(agent) < 0 && this.store.podOfAgent.has(agent));
    if (missing || (this.stale && this.lastDraw - this.lastRebuild >= REBUILD_EVERY_MS)) {
      this.stale = false;
      this.lastRebuild = this.lastDraw;
      this.pending.clear();
      this.traces = this.build();
      await Plotly.react(this.element, coloured(this.traces), this.laidOut(), CONFIG);
    } else {
      await this.drawPending();
    }
    const now = Date.now();
    for (const at of sent) podracer.latencies.push(now - at * 1000);
    podracer.latencies.splice(0, podracer.latencies.length - KEPT_LATENCIES);
    this.busy = false;
    this.schedule();
  }

  async drawPending() {
    const x = [];
    const y = [];
    const indices = [];
    for (const [agent, added] of this.pending) {
      const index = this.index(agent);
      if (index < 0) continue;
      const points = this.xy(agent, added);
      x.push(points.x);
      y.push(points.y);
      indices.push(index);
    }
    this.pending.clear();
    if (indices.length) await Plotly.extendTraces(this.element, { x, y }, indices);
  }

  index(agent) {
    return this.traces.findIndex((trace) => trace.meta.agent === agent);
  }

  // Let the lines of some agents stand out; null: all alike again.
  highlight(agents) {
    if (this.busy || this.highlighted === agents?.join()) return;
    this.highlighted = agents?.join();
    const opacity = this.traces.map((trace) => (!agents || agents.includes(trace.meta.agent) ? 1 : 0.22));
    Plotly.restyle(this.element, { opacity });
  }
}
