// From the store's columns to lines: where each agent's points lie on the chosen axes. Knows no DOM.

// An exponential moving average that is not drawn to zero at its start: what is constant stays so. A gap stays a gap.
export function smoothed(values, weight) {
  let mass = 0;
  let mean = 0;
  return values.map((value) => {
    if (value === null) return null;
    mass = weight * mass + 1 - weight;
    mean += ((value - mean) * (1 - weight)) / mass;
    return mean;
  });
}

const NOTHING = { x: [], y: [], raw: null, low: Infinity, high: -Infinity, first: Infinity, last: -Infinity, dropped: 0 };

export class Lines {
  constructor(store) {
    this.store = store;
    this.detail = null;
    this.cache = new Map();
  }

  // The server's answer for a part of the axis, which has more points there; null: none.
  setDetail(curves) {
    this.detail = curves;
    this.cache.clear();
  }

  setView(view) {
    this.view = view;
    this.cache.clear();
  }

  line(agent) {
    const curve = this.store.curves.get(agent);
    if (!curve?.env_steps.length) return NOTHING;
    const found = this.cache.get(agent);
    const last = curve.env_steps.at(-1);
    if (found?.curve === curve && found.length === curve.env_steps.length && found.end === last) return found.line;
    const line = this.build(agent, curve);
    this.cache.set(agent, { curve, length: curve.env_steps.length, end: last, line });
    return line;
  }

  // The detail, and what has come since.
  columns(agent, curve) {
    const detail = this.detail?.[agent];
    if (!detail) return curve;
    const until = detail.env_steps.at(-1);
    const since = curve.env_steps.findLastIndex((envSteps) => envSteps <= until) + 1;
    return Object.fromEntries(["env_steps", "seconds", "episodic_return"].map((name) => [name, detail[name].concat(curve[name].slice(since))]));
  }

  build(agent, curve) {
    const { y: scale, x: bent, smoothing } = this.view;
    const columns = this.columns(agent, curve);
    const place = this.place(agent, curve);
    const column = columns[this.view.axis === "time" ? "seconds" : "env_steps"];
    const x = column.map((value) => (bent === "log" && place(value) <= 0 ? null : place(value)));
    const known = columns.episodic_return;
    const averaged = smoothing ? smoothed(known, smoothing) : known;
    const positive = (values) => (scale === "log" ? values.map((value) => (value > 0 ? value : null)) : values);
    const line = { ...NOTHING, agent, x, y: positive(averaged), raw: smoothing ? positive(known) : null };
    if (scale === "log") line.dropped = known.reduce((sum, value) => sum + (value !== null && value <= 0), 0);
    return measured(line);
  }

  // Where an agent's env steps or seconds lie on the axis: after its ancestors, at its pod's start, in its generation.
  place(agent, curve) {
    const pod = this.store.podOfAgent.get(agent);
    const of = (name) => curve[name] ?? pod?.[name] ?? 0;
    if (this.view.axis === "depth") {
      const [depth, round] = [of("depth"), of("round_env_steps") || curve.env_steps.at(-1) || 1];
      return (value) => depth + value / round;
    }
    const offset = of(this.view.axis === "time" ? "start_seconds" : "base_env_steps");
    return (value) => offset + (value ?? 0);
  }
}

function measured(line) {
  line.x.forEach((x, index) => {
    const y = line.y[index];
    if (y === null || x === null) return;
    if (y < line.low) line.low = y;
    if (y > line.high) line.high = y;
    if (x < line.first) line.first = x;
    if (x > line.last) line.last = x;
    line.end = { x, y };
  });
  return line;
}

// The first index whose x is not below `value`; x grows.
export function indexAt(xs, value) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] === null || xs[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// All known y of the lines between two x.
export function within(lines, from, to) {
  const found = [];
  for (const { x, y } of lines) {
    for (let index = indexAt(x, from); index < x.length && x[index] <= to; index += 1) {
      if (y[index] !== null) found.push(y[index]);
    }
  }
  return found;
}

// The values at two shares, 0 to 1, of all in order.
export function percentiles(values, shares) {
  const sorted = Float64Array.from(values).sort();
  return shares.map((share) => sorted[Math.round(share * (sorted.length - 1))]);
}
