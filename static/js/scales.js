// What the charts share: rows of columns, the colours of scores, and where a hyperparameter's value lies on its axis.
import { setting } from "./format.js";

export const STEPS = 8;
// The CSS variables of the steps.
export const SCORE_SHADES = Array.from({ length: STEPS }, (_, index) => `score-${index}`);

// Columns of one length as objects.
export function rowsOf(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, index) => Object.fromEntries(names.map((name) => [name, columns[name][index]])));
}

// Of each score its step from 0, the worst, to STEPS - 1, the best, by its place among the different scores: one outlier
// must not take all the colours.
export function scoreSteps(scores) {
  const places = new Map([...new Set(scores.filter((score) => score !== null))].sort((a, b) => a - b).map((score, index) => [score, index]));
  const last = places.size - 1;
  return (score) => (score === null ? null : last ? Math.min(STEPS - 1, Math.floor((STEPS * places.get(score)) / last)) : STEPS - 1);
}

const isNumber = (value) => typeof value === "number";

// Round values from low to high for the labels of an axis: 1, 2 or 5 times a power of ten.
export function niceTicks(low, high, most = 6) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + step * 1e-9; tick += 1) ticks.push(tick * step);
  return ticks;
}

// Seconds at which a clock is read.
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
export function timeTicks(low, high, most = 6) {
  const step = SECONDS.find((size) => (high - low) / size <= most) ?? SECONDS.at(-1) * Math.ceil((high - low) / SECONDS.at(-1) / most);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return ticks;
}

// A scale of one hyperparameter: at(value) is its place from 0 to 1; ticks are [place, label].
export function axisScale({ kind, space, values }) {
  const known = values.filter((value) => value !== null);
  const distinct = [...new Set(known)];
  const listed = kind === "choice" || !distinct.every(isNumber);
  if (listed) return choices(kind === "choice" ? [...new Set([...space, ...distinct])] : distinct);
  const ends = kind === "fixed" ? known : [...known, ...space.filter(isNumber)];
  let [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (low === high) [low, high] = [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
  return kind === "loguniform" ? logarithmic(low, high) : linear(low, high);
}

function choices(items) {
  const ordered = items.every(isNumber) ? [...items].sort((a, b) => a - b) : [...items].sort();
  const place = (index) => (ordered.length === 1 ? 0.5 : 0.04 + (0.92 * index) / (ordered.length - 1));
  return {
    listed: true,
    at: (value) => place(ordered.indexOf(value)),
    // Nearest choice, for a place.
    value: (share) => ordered.reduce((best, item, index) => (Math.abs(place(index) - share) < Math.abs(place(ordered.indexOf(best)) - share) ? item : best)),
    ticks: ordered.map((item, index) => [place(index), setting(item)]),
  };
}

function linear(low, high) {
  return {
    at: (value) => (value - low) / (high - low),
    value: (share) => low + share * (high - low),
    ticks: niceTicks(low, high, 5).map((tick) => [(tick - low) / (high - low), setting(tick)]),
  };
}

function logarithmic(low, high) {
  const span = Math.log(high / low);
  const at = (value) => Math.log(value / low) / span;
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1e-9; power += 1) {
    for (const factor of span > Math.log(300) ? [1] : [1, 2, 5]) {
      const tick = factor * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push([at(tick), setting(Number(tick.toPrecision(3)))]);
    }
  }
  return { at, value: (share) => low * Math.exp(share * span), ticks };
}
