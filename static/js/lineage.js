// The lineage: every agent a dot, its weights' way from the founders on the left to those that train on the right.
import { CanvasChart } from "./canvas_chart.js";
import { address, h } from "./dom.js";
import { count, duration, number } from "./format.js";
import { SCORE_SHADES, scoreSteps, timeTicks } from "./scales.js";
import { arrange, chosen, grown, lineOf } from "./tree.js";

const PAD = { left: 16, right: 96, top: 14, bottom: 30 };
const ROOM = 58;
const ROOM_FIRST = 100;
const LABEL_ROOM = 15;
const KEYS = "Left: parent. Right: first child. Up and down: neighbours. Enter: open. Plus and minus: zoom.";
const SHADES = ["surface", "ink", "muted", "line", "ghost", "accent", "good", "bad", "running",
  ...Array.from({ length: 12 }, (_, index) => `chip-${index}`), ...SCORE_SHADES];
const ENDED = new Set(["FAILED", "STOPPED"]);

const children = (n) => (n === 1 ? "1 child" : `${n} children`);
const ordinal = (n) => `${n}${n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th"}`;

export class Lineage extends CanvasChart {
  constructor(root, onLit) {
    super(root, { label: "Lineage tree", onLit, keys: KEYS });
    this.shades = SHADES;
    this.axis = "descents";
    this.shows = null;
    this.opened = new Set();
    this.kept = new Set();
    this.nodes = new Map();
    this.list = [];
    this.mores = new Map();
  }

  // Those shown of all, for the sentence above the tree.
  get shown() {
    return [this.kept.size, this.nodes.size];
  }

  setData(agents, champion, now) {
    this.nodes = grown(agents);
    this.champion = this.nodes.get(champion) ?? null;
    this.line = new Set(this.champion ? lineOf(this.champion).map((node) => node.id) : []);
    this.now = now;
    const step = scoreSteps(agents.map((agent) => agent.score));
    for (const node of this.nodes.values()) node.step = step(node.score);
    this.layout();
  }

  setView(name, value) {
    this[name] = value;
    this.opened.clear();
    this.layout();
    this.fit();
  }

  layout() {
    this.kept = this.shows === "all" ? new Set(this.nodes.keys()) : chosen(this.nodes, this.opened);
    this.rows = arrange(this.nodes, this.kept);
    this.list = [...this.nodes.values()].filter((node) => this.kept.has(node.id));
    this.depth = Math.max(1, ...this.list.map((node) => node.level));
    this.end = Math.max(1, ...this.list.map((node) => this.moment(node)));
    this.link.hidden = !this.list.length;
    this.redraw();
  }

  // Where the dot stands in time: when the agent was done.
  moment(node) {
    return node.ended ?? (node.status === "RUNNING" ? this.now : node.began ?? this.now);
  }

  scales(zoom) {
    return [Math.sqrt(zoom), zoom];
  }

  // Places

  place(node) {
    const { zoom, x, y } = this.view;
    const [sx, sy] = this.scales(zoom);
    const share = this.axis === "time" ? this.moment(node) / this.end : node.level / this.depth;
    const left = PAD.left + share * (this.width - PAD.left - PAD.right);
    const high = this.height - PAD.top - PAD.bottom;
    const top = PAD.top + (this.rows > 1 ? (node.row + 0.5) / this.rows : 0.5) * high;
    return [left * sx + x, top * sy + y];
  }

  get rowHeight() {
    return ((this.height - PAD.top - PAD.bottom) / Math.max(1, this.rows)) * this.scales(this.view.zoom)[1];
  }

  find(id) {
    return this.kept.has(id) ? this.item(this.nodes.get(id)) : null;
  }

  item(node) {
    const [x, y] = this.place(node);
    return { id: node.id, agent: node.id, x, y, node, href: address(`/agents/${node.id}/`), label: this.told(node), tip: () => this.card(node) };
  }

  near(x, y, reach) {
    let best = null;
    for (const node of this.list) {
      const [left, top] = this.place(node);
      const away = Math.hypot(left - x, top - y);
      if (away < reach && away < (best?.away ?? Infinity)) best = { node, away };
      const more = this.mores.get(node);
      if (more && x > more.left - 3 && x < more.right + 3 && y > more.top && y < more.bottom) return this.opener(node, left, top);
    }
    return best && this.item(best.node);
  }

  get opens() {
    return this.shows !== "all" && this.rowHeight >= 9;
  }

  // Shows those that a node hides, or hides again those that it was opened for, with all that was opened below it.
  opener(node, x, y) {
    const open = this.opened.has(node.id);
    return { id: `+${node.id}`, agent: node.id, x: x + 20, y, act: () => {
      if (open) for (const id of this.opened) if (lineOf(this.nodes.get(id)).includes(node)) this.opened.delete(id);
      if (!open) this.opened.add(node.id);
      this.layout();
      this.onChange?.();
    }, tip: () => [h("span", {}, open ? `Show fewer children of ${node.name}` : `Show ${children(node.hidden)} more of ${node.name}`)] };
  }

  start() {
    return this.champion && this.kept.has(this.champion.id) ? this.item(this.champion) : this.list[0] && this.item(this.list[0]);
  }

  next({ node }, key) {
    if (key === "ArrowLeft") return node.parent && this.item(node.parent);
    if (key === "ArrowRight") {
      const child = node.shown.find((one) => this.line.has(one.id)) ?? node.shown[0];
      return child && this.item(child);
    }
    if (key === "Home") return this.item(lineOf(node)[0]);
    if (key === "End") return this.champion && this.item(this.champion);
    const step = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (!step) return null;
    const column = this.list.filter((one) => one.level === node.level).sort((a, b) => a.row - b.row);
    const next = column[column.indexOf(node) + step];
    return next && this.item(next);
  }

  // Bring what the keyboard came to into the picture.
  reveal({ node }) {
    const [x, y] = this.place(node);
    this.view.x -= Math.max(0, x - (this.width - PAD.right)) + Math.min(0, x - PAD.left);
    this.view.y -= Math.max(0, y - (this.height - PAD.bottom - 8)) + Math.min(0, y - PAD.top);
    this.viewChanged();
  }

  // Words

  told(node) {
    const names = node.parents.map((id) => this.nodes.get(id)?.name).filter(Boolean);
    const from = names.length ? `${node.strategy} of ${names.join(" ")}` : node.strategy;
    const how = node.score === null ? node.status.toLowerCase() : `score ${number(node.score)}`;
    return [node.name, node.algorithm, from, how, node.rank && `rank ${node.rank}`].filter(Boolean).join(", ");
  }

  card(node) {
    const names = node.parents.map((id) => this.nodes.get(id)?.name).filter(Boolean);
    return [
      h("strong", {}, node.name), h("span", { class: "tag" }, node.algorithm),
      h("div", {}, node.score === null ? node.status.toLowerCase() : `score ${number(node.score)}${node.rank ? ` · rank ${node.rank}` : ""}`),
      h("div", { class: "sub" }, names.length ? `${node.strategy} of ${names.join(" ")}` : node.strategy),
      h("div", { class: "sub" }, `${count(node.env_steps)} env steps in all${node.children.length ? ` · ${children(node.children.length)}` : ""}`),
    ];
  }

  // Drawing

  paint(context, tones) {
    this.places = new Map(this.list.map((node) => [node, this.place(node)]));
    this.paintGrid(context, tones);
    context.save();
    this.clip(context);
    this.paintLinks(context, tones, this.places);
    for (const node of this.list) this.paintDot(context, tones, node, this.places.get(node));
    if (this.champion && this.kept.has(this.champion.id)) this.paintDot(context, tones, this.champion, this.places.get(this.champion));
    this.paintNames(context, tones, this.places);
    context.restore();
  }

  // The whole way of an agent from its founder.
  paintLit(context, tones, { node }) {
    const line = lineOf(node);
    const way = new Path2D();
    for (const one of line.slice(1)) curve(way, this.places.get(one.parent), this.places.get(one));
    context.save();
    this.clip(context);
    this.stroke(context, way, tones.ink, 1.8);
    for (const one of line) this.paintDot(context, tones, one, this.places.get(one), true);
    context.restore();
  }

  clip(context) {
    context.beginPath();
    context.rect(0, 0, this.width, this.height - PAD.bottom + 6);
    context.clip();
  }

  paintGrid(context, tones) {
    context.font = this.font(11);
    context.fillStyle = tones.muted;
    context.strokeStyle = tones.line;
    context.lineWidth = 1;
    context.textAlign = "center";
    const base = this.height - 8;
    for (const [share, label] of this.ticks()) {
      const [sx] = this.scales(this.view.zoom);
      const x = (PAD.left + share * (this.width - PAD.left - PAD.right)) * sx + this.view.x;
      if (x < -20 || x > this.width + 20) continue;
      context.fillText(label, Math.max(context.measureText(label).width / 2, x), base);
      if (this.axis !== "time") continue;
      context.beginPath();
      context.moveTo(Math.round(x) + 0.5, PAD.top - 6);
      context.lineTo(Math.round(x) + 0.5, this.height - PAD.bottom + 4);
      context.stroke();
    }
  }

  ticks() {
    const wide = (this.width - PAD.left - PAD.right) * this.scales(this.view.zoom)[0];
    if (this.axis === "time") return timeTicks(0, this.end, Math.max(2, wide / 90)).map((tick) => [tick / this.end, duration(tick)]);
    const every = Math.max(1, Math.ceil((this.depth * ROOM) / wide));
    const levels = Array.from({ length: this.depth + 1 }, (_, level) => level).filter((level) => level % every === 0);
    const first = wide / this.depth < ROOM_FIRST ? "1st" : "1st descent";
    return levels.map((level) => [level / this.depth, level === 0 ? "founders" : level === 1 ? first : ordinal(level)]);
  }

  paintLinks(context, tones, places) {
    const plain = new Path2D();
    const other = new Path2D();
    const best = new Path2D();
    for (const node of this.list) {
      const to = places.get(node);
      for (const id of node.parents) {
        const from = places.get(this.nodes.get(id));
        if (from && id !== node.inherits_from) curve(other, from, to);
      }
      const from = places.get(node.parent);
      if (!from) continue;
      curve(this.line.has(node.id) ? best : plain, from, to);
    }
    context.globalAlpha = this.rowHeight < 3 ? 0.5 : 1;
    this.stroke(context, plain, tones.ghost, 1);
    context.globalAlpha = 1;
    context.setLineDash([3, 3]);
    this.stroke(context, other, tones.ghost, 1);
    context.setLineDash([]);
    this.stroke(context, best, tones.accent, 2.4);
  }

  stroke(context, path, style, width) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke(path);
  }

  paintDot(context, tones, node, [x, y], lit = false) {
    if (x < -8 || x > this.width + 8 || y < -8 || y > this.height + 8) return;
    const size = Math.min(1, 0.5 + this.rowHeight / 20);
    const line = this.line.has(node.id);
    const ranked = node.rank !== null;
    const radius = (ranked || line ? 5.5 : 4) * (ranked || line ? Math.max(0.75, size) : size) + (lit ? 0.8 : 0);
    if (ENDED.has(node.status) && node.score === null) {
      this.paintCross(context, x, y, radius * 0.8, node.status === "FAILED" ? tones.bad : tones.running);
      return;
    }
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    const open = node.score === null;
    context.fillStyle = open ? tones.surface : ranked ? tones[`chip-${(node.color ?? 0) % 12}`] : line ? tones.accent : tones[`score-${node.step}`];
    context.fill();
    if (size < 0.6 && !ranked && !line && !open && !lit) return;
    context.lineWidth = open ? 1.6 : 1.2;
    context.strokeStyle = lit ? tones.ink : open ? (node.status === "RUNNING" ? tones.good : tones.running) : tones.surface;
    context.stroke();
    if (node !== this.champion) return;
    context.beginPath();
    context.arc(x, y, radius + 3, 0, 7);
    context.strokeStyle = tones.accent;
    context.lineWidth = 1.6;
    context.stroke();
  }

  paintCross(context, x, y, size, style) {
    context.beginPath();
    context.moveTo(x - size, y - size);
    context.lineTo(x + size, y + size);
    context.moveTo(x + size, y - size);
    context.lineTo(x - size, y + size);
    context.strokeStyle = style;
    context.lineWidth = 1.4;
    context.stroke();
  }

  // The champion's always, the others' where there is room below each other; then how many children each hides.
  paintNames(context, tones, places) {
    const boxes = [];
    const roomy = this.rowHeight >= LABEL_ROOM && this.axis !== "time"
      && ((this.width - PAD.left - PAD.right) / this.depth) * this.scales(this.view.zoom)[0] > ROOM;
    context.textBaseline = "middle";
    for (const node of this.list) {
      const [x, y] = places.get(node);
      const first = node === this.champion;
      if (!first && !roomy) continue;
      context.font = this.font(first ? 12 : 11, first || node.rank !== null ? 600 : 400);
      context.fillStyle = first ? tones.ink : tones.muted;
      const text = first ? `${node.name} · ${number(node.score)}` : node.name;
      boxes.push({ node, ...this.label(context, tones, text, ...(node.shown.length ? [x, y - 11] : [x + 11, y])) });
    }
    this.paintMores(context, tones, places, boxes);
    context.textBaseline = "alphabetic";
  }

  // The greatest first, beside the name that a leaf has; what would lie over another label waits for a zoom.
  paintMores(context, tones, places, boxes) {
    this.mores.clear();
    if (!this.opens) return;
    context.font = this.font(10);
    context.fillStyle = tones.muted;
    const folds = this.list.filter((one) => one.hidden || this.opened.has(one.id));
    for (const node of folds.sort((a, b) => b.hidden - a.hidden)) {
      const [x, y] = places.get(node);
      const text = this.opened.has(node.id) ? "\u2212" : `+${node.hidden}`;
      const name = node.shown.length ? null : boxes.find((box) => box.node === node);
      const [left, middle] = name ? [name.right + 5, y] : [x + 8, y + 10];
      const box = boxOf(left, middle, context.measureText(text).width);
      if (boxes.some((other) => overlap(box, other))) continue;
      boxes.push(box);
      this.mores.set(node, box);
      this.label(context, tones, text, left, middle);
    }
  }

  // Answers the box that it takes.
  label(context, tones, text, x, y) {
    context.textAlign = "left";
    context.strokeStyle = tones.surface;
    context.lineWidth = 3;
    context.lineJoin = "round";
    const wide = context.measureText(text).width;
    const at = Math.max(2, Math.min(x, this.width - wide - 4));
    context.strokeText(text, at, y);
    context.fillText(text, at, y);
    return boxOf(at, y, wide);
  }
}

const boxOf = (left, middle, wide) => ({ left, right: left + wide, top: middle - LABEL_ROOM / 2, bottom: middle + LABEL_ROOM / 2 });
const overlap = (one, other) => one.left < other.right + 2 && other.left < one.right + 2 && one.top < other.bottom && other.top < one.bottom;

function curve(path, [x0, y0], [x1, y1]) {
  const bend = (x1 - x0) * 0.5;
  path.moveTo(x0, y0);
  path.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
}
