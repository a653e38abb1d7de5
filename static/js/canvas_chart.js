// A chart on a canvas: sharp on every screen, redrawn when it must be, pointed at, zoomed, and walked by the keyboard.
// The canvas itself says nothing to a screen reader; a link over the item in focus does, and arrows move it.
// What is there is painted once; what is pointed at is painted over it, so that pointing costs next to nothing.
import { h } from "./dom.js";
import { color } from "./figure.js";
import { isTouch, onTouchElsewhere } from "./touch.js";

// How near is near enough: a finger is broader than the tip of an arrow.
const NEAR = 14;
const NEAR_FINGER = 24;
const ZOOM_STEP = 1.6;
const MOST_ZOOM = 60;
const CLICK_SLACK = 4;
const FADED = 0.4;

export class CanvasChart {
  // root: an element for the canvas alone; onLit(agents or null): who is pointed at.
  constructor(root, { label, onLit, keys }) {
    this.root = root;
    this.onLit = onLit;
    this.lit = [];
    this.view = { zoom: 1, x: 0, y: 0 };
    this.base = document.createElement("canvas");
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.tip = h("div", { class: "chart-tip", role: "presentation", hidden: true });
    this.link = h("a", { class: "spot", tabindex: "0", "aria-description": keys, hidden: true });
    this.said = h("div", { class: "visually-hidden", "aria-live": "polite" });
    root.classList.add("chart");
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", label);
    root.append(this.canvas, this.link, this.tip, this.said);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(root);
    document.addEventListener("themechange", () => {
      this.tones = null;
      this.redraw();
    });
  }

  // To be answered by each chart: paint(context, tones) and paintLit(context, tones, item) over it, all else faded
  // where `fades`; find(id), start(), near(x, y, reach) and next(item, key), which answer an item or nothing:
  // { id, x, y, label, href, agent, tip() }. Places are those of the view. `shades` names the CSS variables it paints with.

  listen() {
    const { canvas, link } = this;
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerleave", (event) => isTouch(event) || this.point(null));
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => {
      this.drag = null;
      this.point(null);
    });
    onTouchElsewhere(this.root, () => this.point(null));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    }, { passive: false });
    link.addEventListener("focus", () => this.focusOn(this.find(this.focused) ?? this.start()));
    link.addEventListener("blur", () => {
      if (this.walked) this.point(null);
      this.walked = false;
    });
    link.addEventListener("keydown", (event) => this.key(event));
  }

  // Size and drawing

  resize() {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!width || !height || (width === this.width && height === this.height)) return;
    this.width = width;
    this.height = height;
    this.arrange?.();
    this.redraw();
  }

  redraw() {
    this.stale = true;
    this.retouch();
  }

  retouch() {
    if (this.frame || !this.width) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.tones ??= Object.fromEntries(this.shades.map((name) => [name, color(`--${name}`)]));
      this.family ??= getComputedStyle(this.root).fontFamily;
      if (this.stale) this.paint(this.cleared(this.base), this.tones);
      this.stale = false;
      this.compose(this.cleared(this.canvas));
      this.spotPlace();
    });
  }

  cleared(canvas) {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    return context;
  }

  compose(context) {
    const items = this.lit.map((agent) => this.find(agent)).filter(Boolean);
    context.globalAlpha = items.length && this.fades ? FADED : 1;
    context.drawImage(this.base, 0, 0, this.width, this.height);
    context.globalAlpha = 1;
    for (const item of items) this.paintLit(context, this.tones, item);
  }

  font(size, weight = 400) {
    return `${weight} ${size}px ${this.family}`;
  }

  // Pointing

  // Let these agents stand out; null: all alike again.
  highlight(agents) {
    const lit = agents ?? [];
    if (this.lit.join() === lit.join()) return;
    this.lit = lit;
    this.retouch();
  }

  point(item, x, y) {
    const changed = this.pointed?.id !== item?.id;
    this.pointed = item;
    this.canvas.style.cursor = item?.href || item?.act ? "pointer" : this.view.zoom > 1 ? "grab" : "default";
    if (changed) {
      this.tip.hidden = !item?.tip;
      if (item?.tip) this.tip.replaceChildren(...item.tip());
      this.onLit(item?.agent ? [item.agent] : null);
    }
    if (item?.tip) this.tipPlace(x ?? item.x, y ?? item.y);
  }

  tipPlace(x, y) {
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const left = Math.max(0, Math.min(this.width - width, x - width / 2));
    const top = y - height - 14 >= -20 ? y - height - 14 : y + 16;
    this.tip.style.transform = `translate(${left}px, ${top}px)`;
  }

  move(event) {
    const { drag } = this;
    if (drag) {
      drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > CLICK_SLACK;
      if (drag.moved && this.view.zoom > 1) {
        this.view.x = drag.from.x + event.clientX - drag.x;
        this.view.y = drag.from.y + event.clientY - drag.y;
        this.viewChanged();
        return;
      }
    }
    this.point(this.under(event), event.offsetX, event.offsetY);
  }

  under(event) {
    return this.near(event.offsetX, event.offsetY, isTouch(event) ? NEAR_FINGER : NEAR);
  }

  down(event) {
    if (event.button !== 0) return;
    this.drag = { x: event.clientX, y: event.clientY, from: { ...this.view }, before: this.pointed?.id };
    if (this.view.zoom > 1) this.canvas.setPointerCapture(event.pointerId);
  }

  up(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.moved) return;
    const item = this.under(event);
    // A finger points first and opens with the second tap.
    const first = isTouch(event) && item?.id !== drag.before;
    this.point(item, event.offsetX, event.offsetY);
    if (!item || first) return;
    if (item.act) item.act();
    else if (item.href) (event.ctrlKey || event.metaKey ? open(item.href) : location.assign(item.href));
  }

  // Zoom

  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.max(1, Math.min(MOST_ZOOM, this.view.zoom * factor));
    const [fromX, fromY] = this.scales(this.view.zoom);
    const [toX, toY] = this.scales(zoom);
    this.view = { zoom, x: x - ((x - this.view.x) * toX) / fromX, y: y - ((y - this.view.y) * toY) / fromY };
    this.viewChanged();
  }

  zoomIn() {
    this.zoomBy(ZOOM_STEP);
  }

  zoomOut() {
    this.zoomBy(1 / ZOOM_STEP);
  }

  fit() {
    this.view = { zoom: 1, x: 0, y: 0 };
    this.viewChanged();
  }

  // How much a zoom spreads the two directions.
  scales(zoom) {
    return [zoom, zoom];
  }

  viewChanged() {
    const [sx, sy] = this.scales(this.view.zoom);
    this.view.x = Math.min(0, Math.max(this.width * (1 - sx), this.view.x));
    this.view.y = Math.min(0, Math.max(this.height * (1 - sy), this.view.y));
    this.canvas.style.touchAction = this.view.zoom > 1 ? "none" : "pan-y";
    this.point(null);
    this.redraw();
  }

  // The keyboard

  focusOn(item) {
    if (!item) return;
    this.focused = item.id;
    this.walked = true;
    this.reveal?.(item);
    const shown = this.find(item.id) ?? item;
    this.link.setAttribute("aria-label", shown.label);
    if (shown.href) this.link.setAttribute("href", shown.href);
    this.said.textContent = shown.label;
    this.spotPlace();
    this.point(shown);
  }

  key(event) {
    if (event.key === "+" || event.key === "-") {
      event.preventDefault();
      if (event.key === "+") this.zoomIn();
      else this.zoomOut();
      this.focusOn(this.find(this.focused));
      return;
    }
    const item = this.find(this.focused);
    const next = item && this.next(item, event.key);
    if (!next) return;
    event.preventDefault();
    this.focusOn(next);
  }

  // The link lies over its item, so that the focus is seen there.
  spotPlace() {
    const item = this.find(this.focused) ?? this.start();
    if (!item) return;
    if (this.focused === undefined) {
      this.link.setAttribute("aria-label", item.label);
      if (item.href) this.link.setAttribute("href", item.href);
    }
    this.link.style.transform = `translate(${item.x - 11}px, ${item.y - 11}px)`;
  }
}
