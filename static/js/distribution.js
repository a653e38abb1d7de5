// The returns of an agent's evaluation episodes: each a dot, stacked where they agree, with mean, IQM and the score's
// interval. An agent that was evaluated again has both evaluations below each other on one axis.
import { h, s } from "./dom.js";
import { margin, number } from "./format.js";
import { niceTicks } from "./scales.js";

// Where the part of the page that it goes to has no width yet.
const USUAL_WIDTH = 640;
const PIXELS_A_TICK = 90;
const SIDE = 12;
const DOT = 9;
const HEIGHT = 74;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// Of the middle half; an episode at its edge counts by its fraction, as interquartile_mean of
// podracer_core/tournament/statistics.py has it.
export function interquartileMean(values) {
  const ordered = [...values].sort((a, b) => a - b);
  const weights = ordered.map((_, index) =>
    Math.max(0, Math.min((index + 1) / ordered.length, 0.75) - Math.max(index / ordered.length, 0.25)));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return ordered.reduce((sum, value, index) => sum + value * weights[index], 0) / whole;
}

// Parts of the returns with what each is called: one evaluation, or the first and the fresh one after it.
export function evaluations({ returns, screening }) {
  const known = (values) => values.filter(Number.isFinite);
  if (!screening || screening.episodes >= returns.length) return [{ title: "", values: known(returns) }];
  return [
    { title: "First evaluation", values: known(returns.slice(0, screening.episodes)), interval: screening },
    { title: "Again, on fresh seeds", values: known(returns.slice(screening.episodes)) },
  ].filter((part) => part.values.length);
}

function axisOf(values, { score_low: low, score_high: high }, width) {
  const ends = [...values, low, high].filter(Number.isFinite);
  let [least, most] = [Math.min(...ends), Math.max(...ends)];
  if (least === most) [least, most] = [least - Math.max(1, Math.abs(least) / 10), most + Math.max(1, Math.abs(most) / 10)];
  return { width, least, most, at: (value) => SIDE + ((width - 2 * SIDE) * (value - least)) / (most - least) };
}

// Equal returns stand on each other, the closer the more there are.
function stacked(values, axis) {
  const most = Math.floor((HEIGHT - 10) / DOT);
  const stacks = new Map();
  for (const value of values) {
    const column = Math.round(axis.at(value) / DOT);
    stacks.set(column, [...(stacks.get(column) ?? []), value]);
  }
  const highest = Math.max(...[...stacks.values()].map((stack) => stack.length));
  const step = highest <= most ? DOT : (HEIGHT - 10) / highest;
  return [...stacks].flatMap(([column, stack]) =>
    stack.map((value, index) => ({ value, x: stacks.size === 1 ? axis.at(value) : column * DOT, y: HEIGHT - 5 - index * step })));
}

// Where all are one value, it and how many they are; the column alone cannot be counted.
function allOne(values, axis) {
  if (values.length === 1 || values.some((value) => value !== values[0])) return null;
  return s("text", { class: "count", x: axis.at(values[0]) + DOT + 3, y: HEIGHT / 2 + 4 }, `${values.length} × ${number(values[0])}`);
}

function strip({ values, interval }, axis) {
  const [middle, iqm] = [mean(values), interquartileMean(values)];
  const band = interval && interval.score_low !== null;
  return s("svg", { class: "strip", viewBox: `0 0 ${axis.width} ${HEIGHT + 8}`, role: "img",
    "aria-label": `${values.length} episodes, returns from ${number(Math.min(...values))} to ${number(Math.max(...values))}, mean ${number(middle)}, IQM ${number(iqm)}` },
  band && s("rect", { class: "band", x: axis.at(interval.score_low), y: 0, width: Math.max(2, axis.at(interval.score_high) - axis.at(interval.score_low)), height: HEIGHT }),
  s("line", { class: "ground", x1: 0, x2: axis.width, y1: HEIGHT, y2: HEIGHT }),
  s("line", { class: "mean", x1: axis.at(middle), x2: axis.at(middle), y1: 0, y2: HEIGHT }),
  s("line", { class: "iqm", x1: axis.at(iqm), x2: axis.at(iqm), y1: 0, y2: HEIGHT }),
  allOne(values, axis),
  stacked(values, axis).map(({ x, y, value }) => s("circle", { cx: x, cy: y, r: 3.6 }, s("title", {}, number(value)))));
}

function scale(axis) {
  return s("svg", { class: "strip scale", viewBox: `0 0 ${axis.width} 20`, "aria-hidden": "true" },
    niceTicks(axis.least, axis.most, Math.max(3, Math.min(6, axis.width / PIXELS_A_TICK))).flatMap((tick) => [
      s("line", { class: "ground", x1: axis.at(tick), x2: axis.at(tick), y1: 0, y2: 4 }),
      s("text", { x: Math.max(14, Math.min(axis.width - 14, axis.at(tick))), y: 16 }, number(tick)),
    ]));
}

export function distributionShow(root, agent) {
  const parts = evaluations(agent);
  const all = parts.flatMap((part) => part.values);
  if (!all.length) return;
  const axis = axisOf(all, agent, root.clientWidth || USUAL_WIDTH);
  if (parts.length === 1) parts[0].interval = agent;
  root.replaceChildren(
    ...parts.flatMap((part) => [
      part.title && h("p", { class: "sub evaluation" }, h("strong", {}, part.title), ` · ${part.values.length} episodes, mean ${number(mean(part.values))}${part.interval ? ` ${margin(part.interval)}` : ""}, IQM ${number(interquartileMean(part.values))}`),
      strip(part, axis),
    ].filter(Boolean)),
    scale(axis),
    h("p", { class: "legend" }, h("span", {}, h("i", { class: "mean" }), "mean"), h("span", {}, h("i", { class: "iqm" }), "interquartile mean"),
      h("span", {}, h("b", { class: "swatch band" }), parts.length > 1 ? "95 % interval at first" : "95 % interval of the score"),
      parts.length > 1 && h("span", {}, `both together: ${number(agent.score)} ${margin(agent)}`)));
}
