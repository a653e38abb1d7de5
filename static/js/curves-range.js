// From where to where the axes go. Knows no DOM.
import { percentiles, within } from "./curves-lines.js";
import { roundedRange } from "./curves-scale.js";

const CLIPPED = [0.05, 0.95];
// Of what is between these so much more is shown, so that a curve's own beginning and end are not cut off.
const PADDING = 0.2;
const ALL = [0, 1];
// The axes end at the next of so many parts of the distance between two ticks, so that they seldom move.
const PARTS = { x: 4, y: 2 };

export function rangeX({ view, zoom, lines }, ticks) {
  if (zoom) return zoom;
  const last = lines.reduce((most, line) => Math.max(most, line.last), -Infinity);
  if (view.x === "log") {
    const first = lines.reduce((least, line) => Math.min(least, line.first), Infinity);
    return last > first ? [first, last] : [1, 10];
  }
  if (!(last > 0)) return [0, 1];
  return view.axis === "depth" ? [0, Math.ceil(last - 1e-9)] : roundedRange("linear", 0, last, ticks, PARTS.x);
}

export function rangeY({ view, zoom, zoomY, lines, group, target, marks }, [from, to], ticks) {
  if (zoomY) return zoomY;
  const log = view.y === "log";
  let [low, high] = extremes(view, zoom, grouped(group, view) ?? lines, from, to);
  for (const { end, score } of marks) {
    if ((log && score <= 0) || end.x < from || end.x > to) continue;
    [low, high] = [Math.min(low, score), Math.max(high, score)];
  }
  if (target !== null && !zoom && !(log && target <= 0)) [low, high] = [Math.min(low, target), Math.max(high, target)];
  if (!Number.isFinite(low)) return log ? [1, 10] : [0, 1];
  // Returns that are good above 0 are seen against 0; negative ones would only be squeezed by it.
  if (!log && target > 0 && !zoom) low = Math.min(low, 0);
  return roundedRange(view.y, low, high, ticks, PARTS.y);
}

// A band is looked at for itself: what single pods do does not squeeze it.
function grouped(group, view) {
  if (view.pods !== "band" || !group?.x.length) return null;
  const [low, , high] = bandColumns(view);
  const positive = (values) => (view.y === "log" ? values.map((value) => (value > 0 ? value : null)) : values);
  return [low, high].map((name) => ({ x: group.x, y: positive(group[name]) }));
}

// Lower end, middle and upper end of the band.
export const bandColumns = (view) => (view.band === "iqm" ? ["lower_quartile", "iqm", "upper_quartile"] : ["mean_low", "mean", "mean_high"]);

// Of two or three pods the interval of the mean goes far beyond all that any of them had: it ends where they do.
export function withinSeen(group) {
  const bounded = (name) => group[name].map((value, index) => (value === null ? null : Math.min(Math.max(value, group.lowest[index]), group.highest[index])));
  return { ...group, mean_low: bounded("mean_low"), mean_high: bounded("mean_high") };
}

function extremes(view, zoom, lines, from, to) {
  if (view.clip === "off" && !zoom && "low" in (lines[0] ?? {})) {
    return [lines.reduce((least, line) => Math.min(least, line.low), Infinity), lines.reduce((most, line) => Math.max(most, line.high), -Infinity)];
  }
  const values = within(lines, from, to);
  if (!values.length) return [Infinity, -Infinity];
  if (view.clip === "off") return percentiles(values, ALL);
  const [low, high, lowest, highest] = percentiles(values, [...CLIPPED, ...ALL]);
  const padding = view.y === "log" ? 0 : (high - low) * PADDING;
  return [Math.max(lowest, low - padding), Math.min(highest, high + padding)];
}
