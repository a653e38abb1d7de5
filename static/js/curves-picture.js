// The picture of a scene {view, zoom, zoomY, others, growing, board, marks, lines, group, target}: axes as SVG, and canvases
// above them, so that lines which do not change are painted once, and those that grow get only what is new.
import { drawAxes, marginsOf, ticksWanted } from "./curves-axes.js";
import { Nothing, nothingOf } from "./curves-nothing.js";
import { paintBand, paintBeyond, paintDot, paintLine } from "./curves-paint.js";
import { bandColumns, rangeX, rangeY } from "./curves-range.js";
import { Scale } from "./curves-scale.js";
import { paintMark } from "./curves-scores.js";
import { h, s } from "./dom.js";
import { color } from "./figure.js";

// The last painted point of a line and those after it; null where there are none. A line that was thinned begins anew.
function tail(line, painted = 0) {
  const from = Math.max(0, painted - 1);
  if (painted === line.x.length) return null;
  const after = (column) => column?.slice(from > line.x.length ? 0 : from);
  return { ...line, x: after(line.x), y: after(line.y), raw: after(line.raw) };
}

const FAINT = 0.28;
const BACKGROUND = 0.45;

export class Picture {
  constructor(element) {
    this.element = element;
    this.grid = s("svg", { "aria-hidden": "true" });
    this.canvases = Object.fromEntries(["others", "growing", "board", "top"].map((name) => [name, h("canvas", { "aria-hidden": "true" })]));
    this.front = s("svg", { "aria-hidden": "true" });
    element.append(this.grid, ...Object.values(this.canvases), this.front);
    this.nothing = new Nothing(element);
    this.beyond = {};
    this.colorsRead();
  }

  colorsRead() {
    const names = ["--ghost", "--running", "--accent", "--ink", "--surface", ...Array.from({ length: 12 }, (_, index) => `--chip-${index}`)];
    this.colors = Object.fromEntries(names.map((name) => [name, color(name)]));
  }

  // Takes the element's size; false while it has none.
  resize() {
    this.size = { width: this.element.clientWidth, height: this.element.clientHeight };
    if (!this.size.width || !this.size.height) return false;
    for (const canvas of Object.values(this.canvases)) {
      canvas.width = Math.round(this.size.width * devicePixelRatio);
      canvas.height = Math.round(this.size.height * devicePixelRatio);
    }
    this.fitted = null;
    return true;
  }

  // Whether the axes had to move.
  fit(scene) {
    const { left, right, top, bottom } = marginsOf(this.size.width);
    const across = [left, this.size.width - right];
    const up = [this.size.height - bottom, top];
    const x = rangeX(scene, ticksWanted(across[1] - across[0], "x"));
    const y = rangeY(scene, x, ticksWanted(up[0] - up[1], "y"));
    const { view, target } = scene;
    const nothing = nothingOf(scene);
    const key = JSON.stringify([view.axis, view.x, view.y, x, y, target, nothing]);
    if (key === this.fitted) return false;
    this.fitted = key;
    this.at = { x: new Scale(view.x, x, across), y: new Scale(view.y, y, up) };
    if (nothing) for (const svg of [this.grid, this.front]) svg.replaceChildren();
    else drawAxes(this.grid, this.front, this.at, view.axis, target, this.size);
    this.nothing.show(nothing);
    return true;
  }

  paintOthers({ others, view, group }) {
    this.paint("others", (ctx, taken) => {
      ctx.globalAlpha = view.pods === "band" || view.pods === "best" ? BACKGROUND : 1;
      this.paintLines(ctx, others, taken);
      ctx.globalAlpha = 1;
      if (group && view.pods === "band") this.paintGroupBand(ctx, group, view);
      if (group && view.pods === "best") this.paintGroupLine(ctx, group.x, group.best);
    });
  }

  paintBoard({ board, marks }) {
    this.paint("board", (ctx, taken) => {
      this.paintLines(ctx, board, taken);
      for (const { line, style } of board) this.paintHead(ctx, line, style);
    }, { marks });
  }

  paintGrowing({ growing }) {
    this.paint("growing", (ctx, taken) => this.paintLines(ctx, growing, taken));
    this.painted = new Map(growing.map(({ line, style }) => [style.agent, line.x.length]));
  }

  // Only what has come to the lines since they were painted.
  paintGrowth({ growing }) {
    const added = growing.map(({ line, style }) => ({ style, line: tail(line, this.painted.get(style.agent)) }));
    this.paint("growing", (ctx, taken) => this.paintLines(ctx, added.filter(({ line }) => line), taken), { cleared: false });
    for (const { line, style } of growing) this.painted.set(style.agent, line.x.length);
  }

  // The lines that stand out, over the others, which step back; null: none do.
  paintTop(drawn) {
    for (const name of ["others", "growing", "board"]) this.canvases[name].classList.toggle("back", Boolean(drawn));
    this.paint("top", (ctx, taken) => {
      this.paintLines(ctx, drawn ?? [], taken);
      for (const { line, style } of drawn ?? []) this.paintHead(ctx, line, style);
    }, { marks: (drawn ?? []).map(({ mark }) => mark).filter(Boolean) });
  }

  // Let `work` draw on a layer within the axes, cleared unless told otherwise; a mark may lie across their edge.
  paint(layer, work, { cleared = true, marks = [] } = {}) {
    const ctx = this.canvases[layer].getContext("2d");
    const { x, y } = this.at;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    if (cleared) ctx.clearRect(0, 0, this.size.width, this.size.height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(x.start - 1, y.end - 1, x.end - x.start + 6, y.start - y.end + 2);
    ctx.clip();
    ctx.lineJoin = "round";
    const taken = { places: new Set(), beyond: 0 };
    work(ctx, taken);
    ctx.restore();
    for (const mark of marks) paintMark(ctx, mark, this.at, this.colors["--surface"]);
    this.beyond[layer] = taken.beyond + (cleared ? 0 : this.beyond[layer]);
  }

  paintLines(ctx, lines, taken) {
    for (const { line, style } of lines) {
      ctx.strokeStyle = ctx.fillStyle = style.color;
      ctx.lineWidth = style.width;
      if (line.raw && style.width > 1) {
        ctx.globalAlpha = FAINT;
        paintLine(ctx, line.x, line.raw, this.at);
        ctx.globalAlpha = 1;
      }
      paintLine(ctx, line.x, line.y, this.at);
      if (line.low < this.at.y.low || line.high > this.at.y.high) taken.beyond += paintBeyond(ctx, line, this.at, taken.places);
    }
  }

  paintHead(ctx, line, style) {
    if (!line.end || line.end.x > this.at.x.high) return;
    ctx.fillStyle = style.color;
    paintDot(ctx, line.end, this.at, 3.5);
  }

  paintGroupBand(ctx, group, view) {
    const [low, middle, high] = bandColumns(view).map((name) => this.positive(group[name], view));
    ctx.fillStyle = this.colors["--accent"];
    ctx.globalAlpha = 0.2;
    paintBand(ctx, group.x, low, high, this.at);
    ctx.globalAlpha = 1;
    this.paintGroupLine(ctx, group.x, middle);
  }

  paintGroupLine(ctx, x, y) {
    ctx.strokeStyle = this.colors["--accent"];
    ctx.lineWidth = 2.4;
    paintLine(ctx, x, this.at.y.type === "log" ? y.map((value) => (value > 0 ? value : null)) : y, this.at);
  }

  positive(values, view) {
    return view.y === "log" ? values.map((value) => (value > 0 ? value : null)) : values;
  }
}
