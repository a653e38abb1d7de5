// What a line trained with: a step line for each hyperparameter that changed, over the env steps of the line.
import { h, s } from "./dom.js";
import { count, setting } from "./format.js";
import { axisScale, rowsOf } from "./scales.js";

const WIDTH = 240;
const HEIGHT = 74;
const TOP = 8;
const LOW = 60;

// From the lowest to the highest value that the line had, on the scale of the search space.
function scaled(axis) {
  const listed = axis.kind === "choice" || axis.values.some((value) => typeof value !== "number");
  return axisScale({ ...axis, kind: axis.kind === "loguniform" ? "loguniform" : listed ? "choice" : "fixed", space: listed ? [...new Set(axis.values)] : [] });
}

function steps(axis, segments, end) {
  const scale = scaled(axis);
  const x = (step) => (WIDTH * step) / end;
  const y = (value) => LOW - (LOW - TOP) * scale.at(value);
  const points = segments.flatMap((segment, index) => [[x(segment.begin), y(axis.values[index])], [x(segment.end), y(axis.values[index])]]);
  const path = points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
  return s("svg", { class: "steps", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    segments.slice(1).map((segment) => s("line", { class: "descent", x1: x(segment.begin), x2: x(segment.begin), y1: 0, y2: LOW + 6 })),
    s("polyline", { class: "fall", points: `0,${LOW + 6} ${path} ${WIDTH},${LOW + 6}` }),
    s("polyline", { class: "line", points: path }),
    segments.map((segment, index) => s("rect", { class: "hit", x: x(segment.begin), width: x(segment.end) - x(segment.begin), y: 0, height: HEIGHT },
      s("title", {}, `${segment.name}: ${setting(axis.values[index])} from ${count(segment.begin)} to ${count(segment.end)} env steps`))));
}

// With more digits where fewer would show no difference.
function change(first, last) {
  if (first === last) return `${setting(first)}, with changes between`;
  const shown = [setting(first), setting(last)];
  const finer = (value) => (Math.abs(value) < 0.01 ? value.toExponential(2) : value.toPrecision(4));
  return (shown[0] === shown[1] ? [finer(first), finer(last)] : shown).join(" → ");
}

function figure(axis, segments, end) {
  const told = segments.map((segment, index) => `${segment.name} ${setting(axis.values[index])}`).join(", ");
  return h("figure", { class: "schedule-of", role: "group", "aria-label": `${axis.name} along the line: ${told}` },
    h("figcaption", {}, h("strong", {}, axis.name), h("span", {}, change(axis.values[0], axis.values.at(-1)))),
    steps(axis, segments, end),
    h("div", { class: "ends sub", "aria-hidden": "true" }, h("span", {}, "0"), h("span", {}, count(end))));
}

export function scheduleShow(root, sentence, schedule) {
  const segments = schedule ? rowsOf(schedule.segments) : [];
  const changed = (schedule?.axes ?? []).filter((axis) => new Set(axis.values).size > 1);
  const steady = (schedule?.axes ?? []).filter((axis) => new Set(axis.values).size === 1);
  const end = segments.at(-1)?.end ?? 0;
  if (!end) {
    root.replaceChildren();
    sentence.textContent = "Drawn once the line has trained.";
    return;
  }
  const descents = new Set(segments.map((segment) => segment.agent)).size - 1;
  sentence.textContent = changed.length
    ? `${schedule.name}'s line over ${count(end)} env steps; each upright line is a descent.`
    : descents ? `Nothing changed along ${schedule.name}'s line.` : `${schedule.name} is a founder: it trained with one set throughout.`;
  root.replaceChildren(...[
    ...changed.map((axis) => figure(axis, segments, end)),
    steady.length && h("p", { class: "sub steady" }, `Throughout: ${steady.map((axis) => `${axis.name} ${setting(axis.values[0])}`).join(", ")}.`),
  ].filter(Boolean));
}
