// Slots over the wall clock: a bar for each pod, coloured by its score, and the idleness between them.
import { CanvasChart } from "./canvas_chart.js";
import { address, h } from "./dom.js";
import { clock, duration, number, percent } from "./format.js";
import { rowsOf, SCORE_SHADES, scoreSteps, timeTicks } from "./scales.js";

export const ROW = 30;
const BAR = 20;
const FOOT = 26;
const NAME_ROOM = 40;
const KEYS = "Left and right: the pod before or after on its slot. Up and down: another slot. Enter: open. Plus and minus: zoom.";

export class Gantt extends CanvasChart {
  constructor(root, onLit) {
    super(root, { label: "Pods on their slots", onLit, keys: KEYS });
    this.shades = ["surface", "ink", "muted", "line", "soft", "ghost", "bad", "warn", "running", ...SCORE_SHADES];
    this.fades = true;
    this.bars = [];
    this.slots = [];
  }

  setData(data) {
    this.received = performance.now();
    this.data = data;
    this.slots = rowsOf(data.slots);
    const bars = rowsOf(data.bars);
    const step = scoreSteps(bars.map((bar) => bar.score));
    this.bars = bars.map((bar) => ({ ...bar, step: step(bar.score) })).sort((a, b) => a.row - b.row || a.begin - b.begin);
    this.byAgent = new Map(this.bars.map((bar) => [bar.agent, bar]));
    this.others = rowsOf(data.elsewhere);
    this.pauses = rowsOf(data.pauses);
    this.root.style.height = `${this.slots.length * ROW + FOOT}px`;
    this.link.hidden = !this.bars.length;
    this.redraw();
  }

  // The right edge: while it runs, time goes on.
  get end() {
    const { seconds, live } = this.data;
    return Math.max(1, seconds + (live ? (performance.now() - this.received) / 1000 : 0));
  }

  endOf(bar) {
    return bar.status === "RUNNING" ? this.end : bar.end;
  }

  scales(zoom) {
    return [zoom, 1];
  }

  x(seconds) {
    return (seconds / this.end) * this.width * this.view.zoom + this.view.x;
  }

  // Pointing and walking

  find(id) {
    const bar = this.byAgent?.get(id);
    return bar ? this.item(bar) : null;
  }

  item(bar) {
    const x = Math.max(8, Math.min(this.width - 8, (this.x(bar.begin) + this.x(this.endOf(bar))) / 2));
    return { id: bar.agent, agent: bar.agent, bar, x, y: bar.row * ROW + ROW / 2, href: address(`/agents/${bar.agent}/`), label: this.told(bar), tip: () => this.card(bar) };
  }

  told(bar) {
    const slot = this.slots[bar.row];
    const score = bar.score === null ? bar.status.toLowerCase() : `score ${number(bar.score)}`;
    return `${bar.name}, ${score}, ${duration(this.endOf(bar) - bar.begin)} on ${slot.worker} slot ${slot.slot} from ${this.at(bar.begin)}`;
  }

  card(bar) {
    const attempt = bar.attempt > 1 ? ` · attempt ${bar.attempt}` : "";
    return [h("strong", {}, bar.name), h("div", {}, bar.score === null ? bar.status.toLowerCase() : `score ${number(bar.score)}${bar.rank ? ` · rank ${bar.rank}` : ""}`),
      h("div", { class: "sub" }, `${this.at(bar.begin)}, for ${duration(this.endOf(bar) - bar.begin)}${attempt}`)];
  }

  at(seconds) {
    return clock(new Date(Date.parse(this.data.began) + seconds * 1000));
  }

  near(x, y) {
    const row = Math.floor(y / ROW);
    const bar = this.bars.find((one) => one.row === row && this.x(one.begin) - 1 <= x && x <= Math.max(this.x(this.endOf(one)), this.x(one.begin) + 3));
    if (bar) return { ...this.item(bar), x, y: row * ROW + ROW / 2 };
    return this.gap(row, x);
  }

  // What the slot did between two bars.
  gap(row, x) {
    const slot = this.slots[row];
    if (!slot) return null;
    const seconds = ((x - this.view.x) / (this.width * this.view.zoom)) * this.end;
    const other = this.others.find((one) => one.row === row && one.begin <= seconds && seconds <= one.end);
    const around = [...this.bars, ...this.others].filter((one) => one.row === row);
    const before = Math.max(...around.filter((one) => (one.status ? this.endOf(one) : one.end) <= seconds).map((one) => (one.status ? this.endOf(one) : one.end)), -Infinity);
    const after = Math.min(...around.filter((one) => one.begin >= seconds).map((one) => one.begin), this.end);
    const text = other ? `a pod of another tournament, ${duration(other.end - other.begin)}`
      : before === -Infinity ? "before its first pod" : this.pauses.some((one) => one.begin <= seconds && seconds <= one.end) ? "paused" : `idle for ${duration(after - before)}`;
    return { id: `gap ${row} ${text}`, x, y: row * ROW + ROW / 2, tip: () => [h("span", {}, text)] };
  }

  start() {
    const last = this.bars.reduce((a, b) => (!a || b.begin > a.begin ? b : a), null);
    return last && this.item(last);
  }

  next({ bar }, key) {
    const index = this.bars.indexOf(bar);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step) {
      const next = this.bars[index + step];
      return next?.row === bar.row ? this.item(next) : null;
    }
    const rows = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (!rows) return null;
    for (let row = bar.row + rows; row >= 0 && row < this.slots.length; row += rows) {
      const there = this.bars.filter((one) => one.row === row);
      if (there.length) return this.item(there.reduce((a, b) => (Math.abs(b.begin - bar.begin) < Math.abs(a.begin - bar.begin) ? b : a)));
    }
    return null;
  }

  reveal({ bar }) {
    const x = this.x(bar.begin);
    this.view.x -= Math.max(0, x - this.width + 40) + Math.min(0, x - 20);
    this.viewChanged();
  }

  // Drawing

  paint(context, tones) {
    if (!this.data) return;
    this.paintTimes(context, tones);
    this.slots.forEach((slot, row) => this.paintIdle(context, tones, slot, row));
    for (const other of this.others) this.hatch(context, other.row, other.begin, other.end, tones.ghost, tones.soft);
    for (const bar of this.bars) this.paintBar(context, tones, bar);
    for (const pause of this.pauses) this.paintPause(context, tones, pause);
  }

  paintLit(context, tones, { bar }) {
    context.font = this.font(11);
    this.paintBar(context, tones, bar);
    const [x, y, width, height] = this.box(bar.row, bar.begin, this.endOf(bar));
    context.beginPath();
    context.roundRect(x, y, Math.max(3, width - 1), height, 3);
    context.lineWidth = 2;
    context.strokeStyle = tones.ink;
    context.stroke();
  }

  paintTimes(context, tones) {
    const zoom = this.view.zoom;
    const from = Math.max(0, (-this.view.x / (this.width * zoom)) * this.end);
    const to = ((this.width - this.view.x) / (this.width * zoom)) * this.end;
    const base = this.slots.length * ROW;
    context.font = this.font(11);
    context.fillStyle = tones.muted;
    context.strokeStyle = tones.line;
    context.lineWidth = 1;
    context.textAlign = "center";
    const live = this.data.live && this.view.zoom === 1;
    const nowAt = this.width - (live ? context.measureText("now").width + 12 : 0);
    for (const tick of timeTicks(from, to, Math.max(3, this.width / 100))) {
      const x = Math.round(this.x(tick)) + 0.5;
      const label = tick === 0 ? "start" : duration(tick);
      const half = context.measureText(label).width / 2;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, base + 4);
      context.stroke();
      if (x + half < nowAt) context.fillText(label, Math.max(half, x), base + 18);
    }
    context.textAlign = "right";
    if (live) context.fillText("now", this.width, base + 18);
  }

  box(row, begin, end) {
    const x = this.x(begin);
    return [x, row * ROW + (ROW - BAR) / 2, Math.max(1, this.x(end) - x), BAR];
  }

  // From its first pod on a slot is there, and idle where nothing lies over it.
  paintIdle(context, tones, slot, row) {
    context.globalAlpha = slot.first === null ? 0.5 : 1;
    this.hatch(context, row, slot.first ?? 0, this.end, tones.warn, tones.surface, 0.38);
    context.globalAlpha = 1;
  }

  hatch(context, row, begin, end, line, ground, strength = 1) {
    const [x, y, width, height] = this.box(row, begin, end);
    const left = Math.max(-8, x);
    const right = Math.min(this.width + 8, x + width);
    if (right <= left) return;
    context.save();
    context.beginPath();
    context.rect(left, y, right - left, height);
    context.clip();
    context.fillStyle = ground;
    context.fill();
    context.beginPath();
    for (let at = Math.floor(left / 6) * 6 - height; at < right; at += 6) {
      context.moveTo(at, y + height);
      context.lineTo(at + height, y);
    }
    context.globalAlpha *= strength;
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.stroke();
    context.restore();
  }

  paintBar(context, tones, bar) {
    const [x, y, width, height] = this.box(bar.row, bar.begin, this.endOf(bar));
    if (x > this.width || x + width < 0) return;
    const gap = width > 4 ? 1 : width > 2 ? 0.5 : 0;
    const plain = { FAILED: tones.bad, RUNNING: tones.running }[bar.status] ?? tones.ghost;
    context.beginPath();
    context.roundRect(x, y, width - gap, height, Math.min(3, width / 3));
    context.fillStyle = bar.step === null ? plain : tones[`score-${bar.step}`];
    context.fill();
    if (width >= NAME_ROOM) this.paintName(context, bar, x, y, inkOn(context.fillStyle));
  }

  // Within the bar, which is the present path.
  paintName(context, bar, x, y, style) {
    context.save();
    context.clip();
    if (bar.rank === 1) context.font = `700 ${context.font}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = style;
    context.fillText(bar.rank === 1 ? `★ ${bar.name}` : bar.name, Math.max(x, 0) + 6, y + BAR / 2 + 0.5);
    context.restore();
  }

  paintPause(context, tones, { begin, end }) {
    const x = this.x(begin);
    context.fillStyle = tones.muted;
    context.globalAlpha = 0.16;
    context.fillRect(x, 0, Math.max(1, this.x(end) - x), this.slots.length * ROW);
    context.globalAlpha = 1;
  }
}

// Black or white, whichever is read better on a colour.
function inkOn(fill) {
  const parts = fill.startsWith("#") ? [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16) / 255) : null;
  const light = parts ? 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] : parseFloat(fill.slice(fill.indexOf("(") + 1));
  return light > 0.58 ? "#1b1c1e" : "#fff";
}

// Beside the chart: each slot with the share of its time that it was busy, read by everybody.
export function slotsShow(names, shares, data) {
  const slots = rowsOf(data.slots);
  names.replaceChildren(...slots.map((slot) => h("li", { title: slot.device === "cuda" ? "GPU" : "CPU" }, h("span", {}, `${slot.worker} · ${slot.slot}`))));
  shares.replaceChildren(...slots.map((slot) => h("li", {}, h("span", { class: "visually-hidden" }, `${slot.worker} slot ${slot.slot}: `),
    slot.busy === null ? "–" : percent(slot.busy), h("span", { class: "visually-hidden" }, slot.busy === null ? "no pod yet" : " busy"))));
}

export function slotsSentence({ busy, idle_seconds: idle, slots, elsewhere }) {
  if (busy === null) return slots.worker.length ? "No slot has run a pod of it yet." : "A row for each slot appears when the first pod is claimed.";
  const others = elsewhere.row.length ? " · the rest with pods of other tournaments" : "";
  return `Busy ${percent(busy)} of the time on ${slots.worker.length} slot${slots.worker.length === 1 ? "" : "s"} · idle ${duration(idle)} in all${others}`;
}

export function slotsNote({ attempts, attempts_shown: shown }) {
  const lost = attempts - shown;
  const kept = lost ? ` Only a pod's last attempt is kept: ${lost} earlier one${lost === 1 ? "" : "s"}, and pods that wait again, leave gaps.` : "";
  return `A slot counts from its first pod on, since nobody wrote down when its worker came; pauses count as neither busy nor idle.${kept}`;
}
