// Numbers and times as people read them. The same rules as webapp/tournaments/templatetags/podracer.py.

const MINUS = "\u2212";
// Between a figure and its unit, which a line never parts.
const NBSP = "\u00a0";
// Halves go to the even number, as Python rounds them, and what is rounded to 0 has no sign.
const ROUNDED = { roundingMode: "halfEven", signDisplay: "negative" };
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0, ...ROUNDED });
const small = new Intl.NumberFormat("en", { maximumFractionDigits: 2, ...ROUNDED });
const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const dayFormat = new Intl.DateTimeFormat("sv", { dateStyle: "short" });
const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "always" });

export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return (Math.abs(value) >= 100 ? whole : small).format(value).replace("-", MINUS);
}

// For columns: two decimals always, so that the points stand below each other.
const column = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2, ...ROUNDED });
export function aligned(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return (Math.abs(value) >= 100 ? whole : column).format(value).replace("-", MINUS);
}

export function margin(item, prefix = "score") {
  const low = item[`${prefix}_low`];
  const high = item[`${prefix}_high`];
  return low === null || high === null || low === undefined || high === undefined ? "" : `±${NBSP}${number((high - low) / 2)}`;
}

// [figure, unit]: 58.2 and "k"
export function scaled(value) {
  for (const [limit, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= limit * 0.9995) return [String(Number((value / limit).toPrecision(3))), unit];
  }
  return [whole.format(value), ""];
}

export function count(value) {
  if (value === null || value === undefined) return "–";
  return scaled(value).join(NBSP).trim();
}

// The size of a file, or of many.
export function size(bytes) {
  for (const [limit, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"]]) {
    if (bytes >= limit) return `${(bytes / limit).toFixed(1)}${NBSP}${unit}`;
  }
  return bytes ? `${Math.max(1, Math.round(bytes / 1e3))}${NBSP}kB` : `0${NBSP}kB`;
}

export function duration(seconds) {
  const total = Math.max(0, Math.round(seconds));
  for (const [size, unit, below, belowUnit] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]]) {
    if (total >= size) {
      const rest = Math.floor((total % size) / below);
      return `${Math.floor(total / size)}${NBSP}${unit}${rest ? ` ${rest}${NBSP}${belowUnit}` : ""}`;
    }
  }
  return `${total}${NBSP}s`;
}

// An estimate does not pretend to know seconds: about 2 min.
export function roughly(seconds) {
  if (seconds < 10) return "a few seconds";
  if (seconds < 90) return `about ${Math.round(seconds / 10) * 10}${NBSP}s`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)}${NBSP}min`;
  if (seconds < 172800) return `about ${Math.round(seconds / 3600)}${NBSP}h`;
  return `about ${Math.round(seconds / 86400)}${NBSP}days`;
}

export function relative(iso) {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  if (Math.abs(seconds) < 45) return "just now";
  for (const [size, unit] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (Math.abs(seconds) >= size || unit === "minute") {
      return relativeFormat.format(Math.round(seconds / size) || -1, unit);
    }
  }
  return "";
}

export const clock = (iso) => clockFormat.format(new Date(iso));
// As the server writes a day, in the viewer's zone: 2026-11-30.
export const day = (iso) => dayFormat.format(new Date(iso));
export const fullTime = (iso) => fullFormat.format(new Date(iso));

export function setting(value) {
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return whole.format(value).replace("-", MINUS);
  if (value !== 0 && Math.abs(value) < 0.01) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

export function changes(changed) {
  return Object.entries(changed ?? {}).map(([name, [old, now]]) => `${name} ${setting(old)} → ${setting(now)}`).join(", ");
}

const hundredth = new Intl.NumberFormat("en", { maximumFractionDigits: 0, useGrouping: false, ...ROUNDED });
const ALMOST_ALL = `>${NBSP}99${NBSP}%`;
// What is not all is not shown as all, nor a little as nothing.
export function percent(share) {
  if (share > 0.99 && share < 1) return ALMOST_ALL;
  return share > 0 && share < 0.01 ? `<${NBSP}1${NBSP}%` : `${hundredth.format(share * 100)}${NBSP}%`;
}
// A probability from a bootstrap, which never shows that something is certain.
export const certainty = (probability) => (probability > 0.99 ? ALMOST_ALL : percent(probability));
export const plural = (n, word) => `${whole.format(n)} ${word}${n === 1 ? "" : "s"}`;
