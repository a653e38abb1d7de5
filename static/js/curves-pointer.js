// Pointing at a curve, zooming into a part of the plot, and both by keyboard.
import { indexAt } from "./curves-lines.js";
import { bandColumns } from "./curves-range.js";
import { spoken } from "./curves-scale.js";
import { nearestMark, scoreWords } from "./curves-scores.js";
import { $, address, h } from "./dom.js";
import { number } from "./format.js";
import { highlight } from "./highlight.js";
import { isTouch, onTouchElsewhere } from "./touch.js";

const REACH = 36;
// A line of the leaderboard is meant rather than one of the background that lies as near.
const FAVOUR = 6;
const DRAGGED = 8;
const BOX = 0.12;
const KEY_ZOOM = 0.6;

// The line under the pointer: the nearest above or below it, and of its points the nearest to it.
export function nearest({ others, growing, board }, at, px, py) {
  const value = at.x.value(px);
  let best = null;
  for (const [lines, favour] of [[others, 0], [growing, FAVOUR], [board, FAVOUR]]) {
    for (const { line, style } of lines) {
      const point = pointAt(line, value);
      if (!point) continue;
      const distance = Math.abs(at.y.at(point.between) - py) - favour;
      if (distance <= (best?.distance ?? REACH)) best = { distance, agent: style.agent, x: point.x, y: point.y };
    }
  }
  return best;
}

function pointAt({ x, y }, value) {
  const after = indexAt(x, value);
  const before = after - 1;
  if (before < 0 || after >= x.length || y[before] === null || y[after] === null || x[before] === null) return null;
  const share = (value - x[before]) / (x[after] - x[before] || 1);
  const index = share < 0.5 ? before : after;
  return { x: x[index], y: y[index], between: y[before] + share * (y[after] - y[before]) };
}

export class Pointer {
  constructor(curves, nameOf) {
    this.curves = curves;
    this.nameOf = nameOf;
    this.element = curves.element;
    this.tip = h("div", { class: "tip", hidden: true });
    this.box = h("div", { class: "zoombox", hidden: true });
    this.element.append(this.box, this.tip);
    const on = (type, listener) => this.element.addEventListener(type, listener.bind(this));
    on("pointermove", this.moved);
    on("pointerleave", (event) => isTouch(event) || this.left());
    on("pointerdown", this.pressed);
    on("pointerup", this.released);
    on("pointercancel", this.left);
    on("dblclick", () => curves.setZoom(null));
    on("keydown", this.key);
    on("blur", this.left);
    onTouchElsewhere(this.element, () => this.found && this.left());
  }

  place(event) {
    const { left, top } = this.element.getBoundingClientRect();
    return { px: event.clientX - left, py: event.clientY - top };
  }

  moved(event) {
    this.last = this.place(event);
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      if (!this.curves.scene || !this.last) return;
      if (this.from) this.stretch();
      else this.point();
    });
  }

  left() {
    this.last = this.from = null;
    this.box.hidden = true;
    this.show(null);
  }

  point() {
    const { scene, picture } = this.curves;
    const { px, py } = this.last;
    const mark = nearestMark(scene.marks, picture.at, px, py);
    if (mark || !this.curves.grouped) this.show(mark ?? nearest(scene, picture.at, px, py));
    else this.showGroup(scene, picture.at, px);
  }

  show(found) {
    // Where it shows nobody, who stands out is meant by another part of the page.
    if (found || this.found) highlight(found ? [found.agent] : null);
    this.found = found;
    this.tip.hidden = !found;
    if (!found) return;
    const { axis } = this.curves.view;
    const scored = this.curves.store.scoreOf(found.agent);
    this.tip.replaceChildren(h("strong", {}, this.nameOf(found.agent)), ` return ${number(found.y)} `, h("span", { class: "sub" }, `at ${spoken(axis, found.x)}`),
      ...(scored ? [" ", h("div", { class: "sub" }, scoreWords(scored))] : []));
    this.tipAt({ x: found.x, y: found.tipY ?? found.y });
  }

  showGroup({ group, view }, at, px) {
    this.show(null);
    const index = group?.x.length ? Math.min(group.x.length - 1, indexAt(group.x, at.x.value(px))) : -1;
    this.tip.hidden = index < 0;
    if (index < 0) return;
    const [low, middle, high] = bandColumns(view).map((name) => group[name][index]);
    const value = view.pods === "best" ? group.best[index] : middle;
    const about = view.pods === "best" ? "best so far" : `${low === null ? "" : `${number(low)} to ${number(high)}, `}${group.pods[index]} pods`;
    this.tip.replaceChildren(h("strong", {}, number(value)), " ", h("span", { class: "sub" }, `${about}, at ${spoken(view.axis, group.x[index])}`));
    this.tipAt({ x: group.x[index], y: value });
  }

  tipAt({ x, y }) {
    const { at, size } = this.curves.picture;
    const wide = this.tip.offsetWidth;
    const beside = at.x.at(x) > size.width * 0.6 ? at.x.at(x) - wide - 10 : at.x.at(x) + 10;
    const below = at.y.at(y) < 62;
    this.tip.style.left = `${Math.max(0, Math.min(size.width - wide, beside))}px`;
    this.tip.style.top = `${Math.min(size.height, Math.max(0, at.y.at(y)))}px`;
    this.tip.style.translate = `0 ${below ? "10px" : "calc(-100% - 8px)"}`;
  }

  // Zooming

  pressed(event) {
    if (event.button !== 0 || !this.curves.picture.at || event.target.closest("button")) return;
    this.last = this.from = this.place(event);
    this.element.setPointerCapture(event.pointerId);
  }

  // The part that is dragged over: its whole height, unless the pointer went up or down as well.
  dragged() {
    const { at } = this.curves.picture;
    const within = ({ start, end }, pixel) => Math.min(Math.max(pixel, Math.min(start, end)), Math.max(start, end));
    const x = [this.from.px, this.last.px].map((pixel) => within(at.x, pixel)).sort((a, b) => a - b);
    const y = [this.from.py, this.last.py].map((pixel) => within(at.y, pixel)).sort((a, b) => a - b);
    const tall = y[1] - y[0] > BOX * (at.y.start - at.y.end);
    return { x, y: tall ? y : [at.y.end, at.y.start], tall };
  }

  stretch() {
    const { x, y } = this.dragged();
    this.box.hidden = x[1] - x[0] < DRAGGED;
    if (this.box.hidden) return;
    this.show(null);
    Object.assign(this.box.style, { left: `${x[0]}px`, width: `${x[1] - x[0]}px`, top: `${y[0]}px`, height: `${y[1] - y[0]}px` });
  }

  released(event) {
    if (!this.from) return;
    this.last = this.place(event);
    const { x, y, tall } = this.dragged();
    const { at } = this.curves.picture;
    const clicked = Math.hypot(this.last.px - this.from.px, this.last.py - this.from.py) < DRAGGED;
    this.from = null;
    this.box.hidden = true;
    if (clicked) this.clicked(event);
    else if (x[1] - x[0] >= DRAGGED) this.curves.setZoom(x.map((px) => at.x.value(px)), tall ? [at.y.value(y[1]), at.y.value(y[0])] : null);
  }

  // A finger first shows whose line it is; the second tap opens it.
  clicked(event) {
    const before = this.found?.agent;
    this.point();
    if (this.found && (!isTouch(event) || before === this.found.agent)) this.open(this.found.agent);
  }

  open(agent) {
    location.assign(address(`/agents/${agent}/`));
  }

  // The keyboard

  key(event) {
    const acts = { ArrowUp: () => this.step(-1), ArrowDown: () => this.step(1), "+": () => this.magnify(KEY_ZOOM), "=": () => this.magnify(KEY_ZOOM),
      "-": () => this.magnify(1 / KEY_ZOOM), ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), 0: () => this.curves.setZoom(null),
      Enter: () => this.found && this.open(this.found.agent), Escape: () => this.show(null) };
    if (event.target !== this.element || !acts[event.key] || event.ctrlKey || event.metaKey || event.altKey || !this.curves.picture.at) return;
    event.preventDefault();
    acts[event.key]();
  }

  // From line to line, the champion first.
  step(by) {
    const { growing, board } = this.curves.scene;
    const lines = [...growing, ...board].toReversed().filter(({ line }) => line.end);
    if (!lines.length) return;
    const now = lines.findIndex(({ style }) => style.agent === this.found?.agent);
    const { line, style } = lines[now < 0 ? 0 : (now + by + lines.length) % lines.length];
    this.show({ agent: style.agent, ...line.end });
    $("[data-curve-said]").textContent = this.tip.textContent;
  }

  magnify(factor) {
    const { x } = this.curves.picture.at;
    const [middle, half] = [(x.start + x.end) / 2, ((x.end - x.start) / 2) * factor];
    if (factor > 1 && !this.curves.zoom) return;
    this.curves.setZoom([x.value(middle - half), x.value(middle + half)]);
  }

  pan(share) {
    const { x } = this.curves.picture.at;
    if (this.curves.zoom) this.curves.setZoom([0, 1].map((end) => x.value(x.start + (share + end) * (x.end - x.start))));
  }
}
