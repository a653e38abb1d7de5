// Grid, ticks, titles and the target of a plot, as SVG behind its lines; the target's name is before them.
import { s } from "./dom.js";
import { number } from "./format.js";
import { ticksOf } from "./curves-scale.js";

const PIXELS_A_TICK = { x: 92, y: 46 };
const TITLES = {
  steps: "env steps, ancestors' included",
  time: "time since the start",
  depth: "generation: founders begin at 0, their children at 1",
};

export const marginsOf = (width) => (width < 480 ? { left: 44, right: 10, top: 14, bottom: 38 } : { left: 54, right: 14, top: 14, bottom: 40 });
export const ticksWanted = (pixels, direction) => Math.max(3, Math.floor(pixels / PIXELS_A_TICK[direction]));

export function drawAxes(svg, front, at, kind, target, { width, height }) {
  const { start: left, end: right } = at.x;
  const { start: bottom, end: top } = at.y;
  for (const one of [svg, front]) one.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const horizontal = ticksOf(kind, at.x, ticksWanted(right - left, "x"));
  const vertical = ticksOf("value", at.y, ticksWanted(bottom - top, "y"));
  svg.replaceChildren(
    ...vertical.map(({ value, text }) => s("g", { class: "ytick" },
      s("line", { x1: left, x2: right, y1: at.y.at(value), y2: at.y.at(value) }),
      s("text", { x: left - 7, y: at.y.at(value) + 4, "text-anchor": "end" }, text))),
    ...horizontal.map(({ value, text }) => s("g", { class: "xtick" },
      s("text", { x: at.x.at(value), y: bottom + 17, "text-anchor": anchor(at.x.at(value), width) }, text))),
    s("text", { class: "title", x: (left + right) / 2, y: height - 5, "text-anchor": "middle" }, TITLES[kind]),
    ...targetLine(at, target),
  );
  front.replaceChildren(...targetName(at, target));
}

// A text at the edge stays within the picture.
const anchor = (x, width) => (x > width - 24 ? "end" : "middle");

const shown = (at, target) => target !== null && target >= at.y.low && target <= at.y.high;

function targetLine(at, target) {
  if (!shown(at, target)) return [];
  const y = at.y.at(target);
  return [s("line", { class: "goal", x1: at.x.start, x2: at.x.end, y1: y, y2: y })];
}

// At the left, where curves are still far from it.
function targetName(at, target) {
  if (!shown(at, target)) return [];
  const y = at.y.at(target);
  const below = y - at.y.end < 12;
  return [s("text", { class: "goal", x: at.x.start + 4, y: below ? y + 14 : y - 5 }, `target ${number(target)}`)];
}
