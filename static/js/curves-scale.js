// Axes: from values to pixels and back, and where their ticks stand. Knows no DOM.
import { count, duration } from "./format.js";

const MINUS = "\u2212";
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
const MULTIPLES = [1, 2, 5];

export class Scale {
  // type: linear or log; [low, high]: values; [start, end]: their pixels
  constructor(type, [low, high], [start, end]) {
    this.type = type;
    this.low = low;
    this.high = high;
    this.start = start;
    this.end = end;
    this.bent = type === "log" ? Math.log10 : (value) => value;
    this.origin = this.bent(low);
    this.perPixel = (end - start) / (this.bent(high) - this.origin || 1);
  }

  at(value) {
    return this.start + (this.bent(value) - this.origin) * this.perPixel;
  }

  value(pixel) {
    const bent = this.origin + (pixel - this.start) / this.perPixel;
    return this.type === "log" ? 10 ** bent : bent;
  }
}

// The round number from which `span` takes about `wanted` steps.
export function niceStep(span, wanted) {
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [...MULTIPLES, 10].find((multiple) => multiple * power >= rough * 0.999) * power;
}

function stepOf(kind, span, wanted) {
  if (kind === "depth") return Math.max(1, niceStep(span, wanted));
  if (kind !== "time" || span / wanted < 1) return niceStep(span, wanted);
  return SECONDS.find((seconds) => seconds >= span / wanted) ?? niceStep(span / 86_400, wanted) * 86_400;
}

function linearTicks(kind, { low, high }, wanted) {
  const step = stepOf(kind, high - low, wanted);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step);
}

// 1, 2 and 5 of each power of ten; of many powers the ones alone, of very many some.
function logTicks({ low, high }, wanted) {
  const decades = Math.log10(high / low);
  const multiples = decades * MULTIPLES.length <= wanted * 1.3 ? MULTIPLES : [1];
  const every = Math.max(1, Math.ceil(decades / wanted));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    if (power % every) continue;
    for (const multiple of multiples) {
      const value = Number(`${multiple}e${power}`);
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

export function ticksOf(kind, scale, wanted) {
  const log = scale.type === "log" ? logTicks(scale, wanted) : [];
  const values = log.length > 1 ? log : linearTicks(kind, scale, wanted);
  const step = values.length > 1 ? Math.min(...values.slice(1).map((value, index) => value - values[index])) : 0;
  return values.map((value) => ({ value, text: tickText(kind, value, step) }));
}

function tickText(kind, value, step) {
  if (kind === "time" && (value >= 1 || value === 0)) return value ? duration(value) : "0";
  if (Math.abs(value) >= 1e6 || (kind === "steps" && Math.abs(value) >= 1000)) return count(value).replace("-", MINUS);
  const decimals = Math.min(8, Math.max(0, -Math.floor(Math.log10(step || Math.abs(value) || 1) + 1e-9)));
  return value.toLocaleString("en", { maximumFractionDigits: decimals }).replace("-", MINUS);
}

// A value on an axis, in words.
export function spoken(kind, value) {
  if (kind === "time") return duration(value);
  if (kind === "depth") return `depth ${value.toFixed(2)}`;
  return `${count(value)} steps`;
}

// Round ends around [low, high], so that a little more data does not move the axis.
export function roundedRange(type, low, high, wanted, parts) {
  if (type === "log") return [rounded125(low, Math.floor), rounded125(high, Math.ceil)];
  if (low === high) return low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const step = niceStep(high - low, wanted) / parts;
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}

function rounded125(value, towards) {
  const power = 10 ** Math.floor(Math.log10(value));
  const all = [1, 2, 5, 10].map((multiple) => multiple * power);
  return towards === Math.floor ? all.findLast((one) => one <= value * 1.001) ?? power : all.find((one) => one >= value * 0.999) ?? 10 * power;
}
