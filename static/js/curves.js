// The learning curves of a tournament. The store has what is drawn; a part that is zoomed into, and what all pods are
// as a group, is asked of the server.
import { call } from "./api.js";
import { legendShow } from "./curves-legend.js";
import { Lines } from "./curves-lines.js";
import { Picture } from "./curves-picture.js";
import { withinSeen } from "./curves-range.js";
import { markOf } from "./curves-scores.js";
import { viewKeep, viewRead } from "./curves-view.js";

const DRAW_EVERY_MS = 100;
const REBUILD_EVERY_MS = 400;
const ASK_AFTER_MS = 120;
const KEEP_AFTER_MS = 250;
const GROUP_EVERY_MS = 3000;
const ZOOM_POINTS = 30_000;
const GROUP_ROWS = 300;
const KEPT_LATENCIES = 500;

export class Curves {
  constructor(element, store) {
    this.element = element;
    this.store = store;
    [this.view, this.zoom] = viewRead();
    this.zoomY = null;
    this.lines = new Lines(store);
    this.lines.setView(this.view);
    this.picture = new Picture(element);
    this.sent = [];
    this.lastDraw = this.lastRebuild = 0;
    new ResizeObserver(() => this.picture.resize() && this.drawNow()).observe(element);
    document.addEventListener("themechange", () => {
      this.picture.colorsRead();
      this.drawNow();
    });
    document.addEventListener("visibilitychange", () => this.schedule());
    document.addEventListener("agenthighlight", ({ detail }) => this.highlight(detail));
    this.ask();
    this.askGroup();
  }

  setShown(shown) {
    this.element.closest("figure").hidden = !shown;
  }

  // What a person chose

  setView(changed) {
    const { axis } = this.view;
    this.view = { ...this.view, ...changed };
    this.lines.setView(this.view);
    if (this.view.axis === axis) this.chosen();
    else this.setZoom(null);
  }

  // [low, high] of an axis, or null for all of it; y follows the lines where it was not chosen.
  setZoom(x, y = null) {
    this.zoom = x;
    this.zoomY = y;
    this.lines.setDetail(null);
    this.ask();
    this.chosen();
  }

  chosen() {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => viewKeep(this.view, this.zoom), KEEP_AFTER_MS);
    this.group = null;
    this.askGroup();
    this.drawNow();
    this.element.dispatchEvent(new Event("viewchange"));
  }

  // What is asked of the server

  address(part, points) {
    const query = new URLSearchParams({ axis: this.view.axis, points });
    if (this.zoom) {
      query.set("from", this.zoom[0]);
      query.set("to", this.zoom[1]);
    }
    return `/api/tournaments/${this.store.tournament.id}/curves${part}?${query}`;
  }

  // More points of the part that is zoomed into.
  ask() {
    clearTimeout(this.asking);
    if (!this.zoom) return;
    const { zoom } = this;
    this.asking = setTimeout(async () => {
      try {
        const { curves } = await call("GET", this.address("", ZOOM_POINTS));
        if (zoom !== this.zoom) return;
        this.lines.setDetail(curves);
        this.drawNow();
      } catch {
        // The server is away: what the page has stays drawn.
      }
    }, ASK_AFTER_MS);
  }

  get grouped() {
    return this.view.pods === "best" || this.view.pods === "band";
  }

  async askGroup() {
    if (!this.grouped || document.hidden) return;
    const address = this.address("/statistics", GROUP_ROWS);
    this.groupAsked = performance.now();
    this.groupOld = false;
    try {
      const group = await call("GET", address);
      if (!this.grouped || address !== this.address("/statistics", GROUP_ROWS)) return;
      this.group = withinSeen(group);
      this.drawNow();
    } catch {
      this.groupOld = true; // asked again when the next points come
    }
  }

  // What the store says

  // Running pods have more points.
  grow(sentAt) {
    if (sentAt) this.sent.push(sentAt);
    this.grown = this.groupOld = true;
    this.schedule();
  }

  // Pods began, ended, changed their rank or lost points.
  changed() {
    this.stale = true;
    this.ask();
    this.schedule();
  }

  // When it is drawn

  drawNow() {
    this.stale = true;
    this.lastRebuild = this.lastDraw = 0;
    this.schedule();
  }

  schedule() {
    if (document.hidden || !(this.stale || this.grown)) return;
    const at = this.grown ? this.lastDraw + DRAW_EVERY_MS : this.lastRebuild + REBUILD_EVERY_MS;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.draw());
    }, Math.max(0, at - performance.now()));
  }

  draw() {
    if (!this.picture.size?.width) return;
    const now = performance.now();
    const fresh = !this.scene || (this.stale && now - this.lastRebuild >= REBUILD_EVERY_MS);
    if (fresh) {
      this.scene = this.compose();
      this.stale = false;
      this.lastRebuild = now;
    }
    for (const drawn of this.scene.growing) drawn.line = this.lines.line(drawn.style.agent);
    this.scene.lines = this.all().map((drawn) => drawn.line);
    this.grown = false;
    this.lastDraw = now;
    if (this.picture.fit(this.scene) || fresh) {
      this.picture.paintOthers(this.scene);
      this.picture.paintGrowing(this.scene);
      this.picture.paintBoard(this.scene);
    } else {
      this.picture.paintGrowth(this.scene);
    }
    if (this.highlighted) this.paintHighlighted();
    this.tell(fresh);
  }

  tell(fresh) {
    const now = Date.now();
    for (const at of this.sent.splice(0)) podracer.latencies.push(now - at * 1000);
    podracer.latencies.splice(0, podracer.latencies.length - KEPT_LATENCIES);
    const { growing } = this.picture.beyond;
    if (fresh || growing !== this.toldBeyond) legendShow(this.element.closest("figure"), this.scene, this.picture.beyond);
    this.toldBeyond = growing;
    if (this.groupOld && performance.now() - this.groupAsked > GROUP_EVERY_MS) this.askGroup();
    this.schedule();
  }

  // Everything that is drawn, from the back to the front.
  all() {
    return [...this.scene.others, ...this.scene.growing, ...this.scene.board];
  }

  // The background, the pods that train, and the leaderboard, the champion last.
  compose() {
    const [growing, board] = this.grouped ? [[], []] : [this.running(), this.board()];
    const front = new Set([...growing, ...board].map((style) => style.agent));
    const back = this.view.pods === "board" ? [] : [...this.store.curves.keys()].filter((agent) => !front.has(agent));
    const drawn = (style) => ({ style, line: this.lines.line(style.agent) });
    return {
      view: this.view, zoom: this.zoom, zoomY: this.zoomY, group: this.group, target: this.store.tournament.target_score,
      champion: this.store.ranked[0]?.color ?? 0,
      others: back.map((agent) => drawn({ agent, color: this.picture.colors["--ghost"], width: 1 })),
      growing: growing.map(drawn),
      board: board.map(drawn),
      marks: this.marks(),
    };
  }

  // The evaluations of the leaderboard, the champion's last; beside the best of all pods the champion's alone.
  marks() {
    if (this.view.pods === "band") return [];
    const ranked = this.view.pods === "best" ? this.store.ranked.slice(0, 1) : this.store.ranked.toReversed();
    return ranked.map((item) => markOf(item, this.lines.line(item.agent), this.colorOf(item))).filter(Boolean);
  }

  colorOf({ color }) {
    return this.picture.colors[`--chip-${color % 12}`];
  }

  board() {
    return this.store.ranked.toReversed().map((item) => ({ agent: item.agent, color: this.colorOf(item), width: item.rank === 1 ? 2.6 : 2 }));
  }

  running() {
    const ranked = new Set(this.store.ranked.map((item) => item.agent));
    return this.store.running().filter((pod) => !ranked.has(pod.agent))
      .map(({ agent }) => ({ agent, color: this.picture.colors["--running"], width: 1.6 }));
  }

  // How an agent is drawn when it stands out; in the colour of its chip, if it has one.
  drawnOf(agent) {
    const ranked = this.store.ranked.find((item) => item.agent === agent);
    const color = ranked ? this.colorOf(ranked) : this.picture.colors["--ink"];
    const line = this.lines.line(agent);
    const scored = this.store.scoreOf(agent);
    return { line, style: { agent, color, width: 3 }, mark: scored && markOf(scored, line, color) };
  }

  highlight(agents) {
    this.highlighted = agents;
    if (this.picture.at && !document.hidden) this.paintHighlighted();
  }

  paintHighlighted() {
    const drawn = this.highlighted?.filter((agent) => this.store.curves.has(agent)).map((agent) => this.drawnOf(agent));
    this.picture.paintTop(drawn?.length ? drawn : null);
  }
}
