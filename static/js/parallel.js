// Parallel coordinates: a line for each agent through the values it was given to its score, the worst drawn first.
// A range can be marked on each axis; who lies in all of them stays in colour.
import { CanvasChart } from "./canvas_chart.js";
import { address, h } from "./dom.js";
import { aligned, number, setting } from "./format.js";
import { axisScale, niceTicks, SCORE_SHADES, scoreSteps, STEPS } from "./scales.js";

const PAD = { left: 40, right: 30, top: 48, bottom: 14 };
const AXIS_ROOM = 92;
const HANDLE_STEP = 0.02;
const KEYS = "Up and down: the next agent by score. Enter: open it.";

export class Parallel extends CanvasChart {
  // onBrush(ids of the agents in all ranges, or null where there is none)
  constructor(root, onLit, onBrush) {
    super(root, { label: "Hyperparameters and scores", onLit, keys: KEYS });
    this.onBrush = onBrush;
    this.shades = ["surface", "ink", "muted", "field-line", "ghost", ...SCORE_SHADES];
    this.fades = true;
    this.brushes = new Map();
    this.rows = [];
    this.axes = [];
    this.overlay = h("div", { class: "axes" });
    root.append(this.overlay);
  }

  setData({ name, agents, axes }) {
    if (this.algorithm !== name) this.brushes.clear();
    this.algorithm = name;
    const scores = agents.map((agent) => agent.score);
    const known = scores.filter((score) => score !== null);
    const score = { name: "score", kind: "score", values: scores, scale: scoreScale(known) };
    this.axes = [...axes.map((axis) => ({ ...axis, scale: axisScale(axis) })), score];
    const step = scoreSteps(scores);
    this.rows = agents.map((agent, index) => ({ ...agent, step: step(agent.score), given: this.axes.map((axis) => axis.values[index]),
      at: this.axes.map((axis) => this.share(axis, axis.values[index], index)) }))
      .sort((a, b) => (a.score ?? -Infinity) - (b.score ?? -Infinity));
    this.byId = new Map(this.rows.map((row) => [row.id, row]));
    this.link.hidden = !this.rows.length;
    for (const name of this.brushes.keys()) if (!this.axes.some((axis) => axis.name === name)) this.brushes.delete(name);
    this.root.style.minWidth = `${PAD.left + PAD.right + AXIS_ROOM * (this.axes.length - 1)}px`;
    this.controls();
    this.sieve();
  }

  // Values of a choice lie a little apart, so that it is seen how many there are.
  share(axis, value, index) {
    if (value === null) return null;
    const apart = axis.scale.listed ? (((index * 0.618) % 1) - 0.5) * 0.03 : 0;
    return axis.scale.at(value) + apart;
  }

  // Places

  x(index) {
    return PAD.left + (index * (this.width - PAD.left - PAD.right)) / Math.max(1, this.axes.length - 1);
  }

  y(share) {
    return this.height - PAD.bottom - share * (this.height - PAD.top - PAD.bottom);
  }

  // The ranges

  sieve() {
    const ranges = [...this.brushes].map(([name, range]) => [this.axes.findIndex((axis) => axis.name === name), range]);
    for (const row of this.rows) {
      row.in = ranges.every(([axis, [low, high]]) => row.at[axis] !== null && row.at[axis] >= low - 1e-9 && row.at[axis] <= high + 1e-9);
    }
    this.onBrush(ranges.length ? this.rows.filter((row) => row.in) : null, this.rows.length);
    this.redraw();
  }

  brush(axis, low, high) {
    if (low <= 0.001 && high >= 0.999) this.brushes.delete(axis.name);
    else this.brushes.set(axis.name, [low, high]);
    this.handlesShow(axis);
    this.sieve();
  }

  clear() {
    this.brushes.clear();
    for (const axis of this.axes) this.handlesShow(axis);
    this.sieve();
  }

  // Handles

  controls() {
    const active = document.activeElement?.dataset?.handle;
    this.overlay.replaceChildren(...this.axes.map((axis) => {
      axis.ends = ["lower", "upper"].map((end) => this.handle(axis, end));
      axis.bar = h("div", { class: "range" });
      axis.strip = h("div", { class: "strip-of" }, axis.bar, ...axis.ends);
      axis.strip.addEventListener("pointerdown", (event) => this.stripDown(axis, event));
      return h("div", { class: `pc-axis ${axis.kind}` }, h("div", { class: "pc-name" }, ...broken(axis.name)), axis.strip);
    }));
    for (const axis of this.axes) this.handlesShow(axis);
    this.arrange();
    if (active) this.overlay.querySelector(`[data-handle="${CSS.escape(active)}"]`)?.focus({ preventScroll: true });
  }

  handle(axis, end) {
    const handle = h("button", { type: "button", role: "slider", class: `handle ${end}`, "aria-orientation": "vertical",
      "aria-label": `${axis.name}, ${end} end`, "aria-valuemin": 0, "aria-valuemax": 100, "data-handle": `${axis.name} ${end}` });
    handle.addEventListener("keydown", (event) => this.handleKey(axis, end, event));
    return handle;
  }

  handlesShow(axis) {
    const [low, high] = this.brushes.get(axis.name) ?? [0, 1];
    const marked = this.brushes.has(axis.name);
    axis.strip.classList.toggle("marked", marked);
    axis.bar.style.top = `${(1 - high) * 100}%`;
    axis.bar.style.bottom = `${low * 100}%`;
    axis.ends.forEach((handle, index) => {
      const share = index ? high : low;
      handle.style.bottom = `${share * 100}%`;
      handle.setAttribute("aria-valuenow", Math.round(share * 100));
      handle.setAttribute("aria-valuetext", setting(axis.scale.value(share)));
    });
  }

  handleKey(axis, end, event) {
    const [low, high] = this.brushes.get(axis.name) ?? [0, 1];
    const now = end === "lower" ? low : high;
    const to = { ArrowUp: now + HANDLE_STEP, ArrowRight: now + HANDLE_STEP, ArrowDown: now - HANDLE_STEP, ArrowLeft: now - HANDLE_STEP,
      PageUp: now + 0.1, PageDown: now - 0.1, Home: 0, End: 1 }[event.key];
    if (event.key === "Escape") this.clear();
    if (to === undefined) return;
    event.preventDefault();
    const share = Math.max(0, Math.min(1, to));
    this.brush(axis, end === "lower" ? Math.min(share, high) : low, end === "upper" ? Math.max(share, low) : high);
  }

  // Dragging a handle moves that end, dragging elsewhere on the axis marks a new range; a mere click clears it.
  stripDown(axis, event) {
    if (event.button !== 0) return;
    event.preventDefault();
    const box = axis.strip.getBoundingClientRect();
    const at = ({ clientY }) => Math.max(0, Math.min(1, (box.bottom - clientY) / box.height));
    const [low, high] = this.brushes.get(axis.name) ?? [0, 1];
    const held = axis.ends.findIndex((handle) => handle === event.target);
    const fixed = held === 0 ? high : held === 1 ? low : at(event);
    let moved = false;
    axis.strip.setPointerCapture(event.pointerId);
    const move = (next) => {
      moved ||= Math.abs(next.clientY - event.clientY) > 3;
      if (moved) this.brush(axis, Math.min(fixed, at(next)), Math.max(fixed, at(next)));
    };
    const end = () => {
      axis.strip.removeEventListener("pointermove", move);
      if (!moved && held < 0) this.brush(axis, 0, 1);
      if (held >= 0) axis.ends[held].focus();
    };
    axis.strip.addEventListener("pointermove", move);
    axis.strip.addEventListener("lostpointercapture", end, { once: true });
  }

  arrange() {
    if (!this.width) return;
    this.axes.forEach((axis, index) => {
      axis.strip.parentElement.style.left = `${this.x(index)}px`;
      axis.strip.style.top = `${PAD.top}px`;
      axis.strip.style.bottom = `${PAD.bottom}px`;
    });
  }

  // Pointing and walking

  find(id) {
    const row = this.byId?.get(id);
    return row ? this.item(row) : null;
  }

  start() {
    const best = this.rows.findLast((row) => row.in);
    return best && this.item(best);
  }

  item(row) {
    const last = this.axes.length - 1;
    const told = this.axes.slice(0, -1).map((axis, index) => `${axis.name} ${setting(row.given[index])}`);
    return { id: row.id, agent: row.id, row, href: address(`/agents/${row.id}/`), x: this.x(last), y: this.y(row.at[last] ?? 0),
      label: `${row.name}, ${row.score === null ? "not scored" : `score ${number(row.score)}`}, ${told.join(", ")}`, tip: () => this.card(row) };
  }

  card(row) {
    return [h("strong", {}, row.name), h("span", { class: "tag" }, row.strategy),
      h("div", {}, row.score === null ? "not scored" : `score ${number(row.score)}${row.rank ? ` · rank ${row.rank}` : ""}`),
      ...this.axes.slice(0, -1).map((axis, index) => h("div", { class: "sub" }, `${axis.name} ${setting(row.given[index])}`))];
  }

  near(x, y, reach) {
    const wide = this.x(1) - this.x(0);
    const index = Math.max(0, Math.min(this.axes.length - 2, Math.floor((x - PAD.left) / wide)));
    const t = Math.max(0, Math.min(1, (x - this.x(index)) / wide));
    const eased = t * t * (3 - 2 * t);
    let best = null;
    for (const row of this.rows) {
      if (!row.in || row.at[index] === null || row.at[index + 1] === null) continue;
      const away = Math.abs(this.y(row.at[index] + (row.at[index + 1] - row.at[index]) * eased) - y);
      if (away < reach / 2 && away <= (best?.away ?? Infinity)) best = { row, away };
    }
    return best && this.item(best.row);
  }

  next({ row }, key) {
    const shown = this.rows.filter((one) => one.in);
    const step = { ArrowUp: 1, ArrowDown: -1 }[key];
    const found = key === "Home" ? shown.at(-1) : key === "End" ? shown[0] : step ? shown[shown.indexOf(row) + step] : null;
    return found && this.item(found);
  }

  scales() {
    return [1, 1];
  }

  // Drawing

  paint(context, tones) {
    context.lineJoin = "round";
    const dense = this.rows.length > 150;
    const thin = Math.min(1, 400 / this.rows.length);
    for (const row of this.rows) {
      if (row.in) continue;
      context.globalAlpha = dense ? 0.18 : 0.35;
      this.line(context, row, tones.ghost, 1);
    }
    for (const row of this.rows) {
      if (!row.in) continue;
      context.globalAlpha = row.score === null ? 0.3 : (dense ? (0.15 + (0.55 * row.step) / STEPS) * thin : 0.85);
      this.line(context, row, row.score === null ? tones.ghost : tones[`score-${row.step}`], row.rank === 1 ? 2.4 : 1.3);
    }
    context.globalAlpha = 1;
    this.axes.forEach((axis, index) => this.axis(context, tones, axis, this.x(index)));
  }

  paintLit(context, tones, { row }) {
    context.lineJoin = "round";
    this.line(context, row, tones.ink, 2.4);
  }

  line(context, row, style, width) {
    context.beginPath();
    let before = null;
    row.at.forEach((share, index) => {
      if (share === null) {
        before = null;
        return;
      }
      const [x, y] = [this.x(index), this.y(share)];
      if (before) {
        const third = (x - before[0]) / 3;
        context.bezierCurveTo(before[0] + third, before[1], x - third, y, x, y);
      } else context.moveTo(x, y);
      before = [x, y];
    });
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke();
  }

  axis(context, tones, axis, x) {
    context.strokeStyle = tones["field-line"];
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, this.y(0));
    context.lineTo(x, this.y(1));
    context.stroke();
    context.font = this.font(10.5);
    context.textBaseline = "middle";
    context.textAlign = axis.kind === "score" ? "left" : "right";
    const side = axis.kind === "score" ? 1 : -1;
    for (const [share, label] of axis.scale.ticks) {
      if (share < -0.01 || share > 1.01) continue;
      const y = this.y(share);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + 4 * side, y);
      context.stroke();
      context.strokeStyle = tones.surface;
      context.lineWidth = 3;
      context.strokeText(label, x + 7 * side, y);
      context.fillStyle = tones.muted;
      context.fillText(label, x + 7 * side, y);
      context.strokeStyle = tones["field-line"];
      context.lineWidth = 1;
    }
  }
}

function scoreScale(known) {
  let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  if (low === high) [low, high] = [low - 1, high + 1];
  return { at: (value) => (value - low) / (high - low), value: (share) => low + share * (high - low),
    ticks: niceTicks(low, high, 5).map((tick) => [(tick - low) / (high - low), high > 100 ? number(tick) : aligned(tick).replace(/\.00$/, "")]) };
}

// A long name breaks after an underscore.
const broken = (name) => name.split("_").flatMap((part, index, all) => (index < all.length - 1 ? [`${part}_`, h("wbr")] : [part]));
