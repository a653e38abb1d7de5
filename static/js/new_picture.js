// Small pictures of what a hyperparameter is drawn from: the density between its bounds, or its choices.
import { s } from "./dom.js";

const WIDTH = 136;
const HEIGHT = 44;
const LEFT = 8;
const RIGHT = WIDTH - 8;
const TOP = 6;
const BASE = 30;
const LABEL = 41;
const MOST_BARS = 24;
const MOST_CHOICES = 12;
const MOST_POWERS = 5;
const SUFFIXES = { k: 1e3, M: 1e6, G: 1e9 };

// A number as the server reads it, NaN for any other text.
export function numberRead(text) {
  const found = /^([+-]?\d+(?:\.\d+)?) ?([kMG])$/.exec(text);
  if (found) return Number(found[1]) * SUFFIXES[found[2]];
  return text === "" ? NaN : Number(text.replace(/(?<=\d)_(?=\d)/g, ""));
}

const parts = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);

function short(text) {
  const value = numberRead(text);
  if (Number.isNaN(value)) return text.length > 7 ? `${text.slice(0, 6)}…` : text;
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

function label(x, text, anchor = "middle") {
  return s("text", { x, y: LABEL, "text-anchor": anchor }, short(text));
}

const frame = (...children) => s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, class: "dist", "aria-hidden": "true" },
  s("line", { x1: LEFT - 4, x2: RIGHT + 4, y1: BASE, y2: BASE, class: "base" }), children.flat(2));

const stem = (x, top, same) => [
  s("line", { x1: x, x2: x, y1: BASE, y2: top, class: "stem" }),
  s("circle", { cx: x, cy: top, r: 3.2, class: same ? "same" : "tip" }),
];

// Where values lie from left to right: what is drawn, and the tuned value beside it.
function axis(low, high, tuned, bent) {
  const ends = [low, high, tuned].map(bent).filter(Number.isFinite);
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  const span = to - from;
  return (value) => (span ? LEFT + ((bent(value) - from) / span) * (RIGHT - LEFT) : (LEFT + RIGHT) / 2);
}

// As likely everywhere between the bounds: of a loguniform on its logarithmic axis.
function density(low, high, at) {
  const [left, right] = [at(low).toFixed(1), at(high).toFixed(1)];
  return s("polygon", { points: `${left},${BASE} ${left},${TOP} ${right},${TOP} ${right},${BASE}`, class: "area" });
}

// 1, 2, ... 9 of each power of ten, by whose places a logarithmic axis is known; of many powers their ones.
function logTicks(low, high, at) {
  const [first, last] = [low, high].map((end) => Math.floor(Math.log10(end)));
  const multiples = last - first > MOST_POWERS ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const ticks = [];
  for (let power = first; power <= last; power += 1) {
    for (const multiple of multiples) {
      const value = Number(`${multiple}e${power}`);
      if (value < low || value > high) continue;
      ticks.push(s("line", { x1: at(value), x2: at(value), y1: BASE, y2: BASE - (multiple === 1 ? 6 : 3), class: "tick" }));
    }
  }
  return ticks;
}

function bars(low, high, at) {
  const count = Math.min(high - low + 1, MOST_BARS);
  const values = Array.from({ length: count }, (_, index) => (count > 1 ? low + ((high - low) * index) / (count - 1) : low));
  return values.map((value) => s("line", { x1: at(value), x2: at(value), y1: BASE, y2: TOP + 4, class: "bar-of" }));
}

function range(kind, written, tunedText) {
  const [low, high] = written.map(numberRead);
  const tuned = numberRead(tunedText);
  if (written.length !== 2 || !(low <= high) || (kind === "loguniform" && low <= 0)) return null;
  const log = kind === "loguniform";
  const at = axis(low, high, tuned, log ? Math.log10 : (value) => value);
  const shape = low === high ? stem(at(low), TOP + 4) : kind === "int" ? bars(low, high, at) : [density(low, high, at), log ? logTicks(low, high, at) : []];
  const apart = at(high) - at(low) > 46;
  const middle = log && at(high) - at(low) > 90 ? label((at(low) + at(high)) / 2, "log") : null;
  const names = apart
    ? [middle, label(Math.max(at(low), LEFT + 8), written[0]), label(Math.min(at(high), RIGHT - 10), written[1])]
    : [s("text", { x: Math.min(Math.max((at(low) + at(high)) / 2, 34), WIDTH - 34), y: LABEL, "text-anchor": "middle" }, `${short(written[0])} – ${short(written[1])}`)];
  const mark = Number.isFinite(tuned) && Number.isFinite(at(tuned)) ? s("line", { x1: at(tuned), x2: at(tuned), y1: 2, y2: BASE, class: "tuned" }) : null;
  return frame(shape, mark, names);
}

const equal = (text, other) => text === other || numberRead(text) === numberRead(other);

function choices(written, tuned) {
  const shown = written.slice(0, MOST_CHOICES);
  if (!shown.length) return null;
  const step = (RIGHT - LEFT) / shown.length;
  const at = (index) => LEFT + step * (index + 0.5);
  const every = Math.ceil((shown.length * 34) / (RIGHT - LEFT));
  return frame(
    shown.flatMap((text, index) => stem(at(index), TOP + 4, equal(text, tuned))),
    shown.map((text, index) => (index % every ? null : label(at(index), text))),
  );
}

// The picture of a row as it stands; null while it says nothing that can be drawn.
export function distribution(kind, text, tuned = "") {
  const written = parts(text);
  if (kind === "fixed") return written.length === 1 ? choices(written, tuned) : null;
  return kind === "choice" ? choices(written, tuned) : range(kind, written, tuned);
}
