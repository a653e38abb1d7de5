// A curve that grows for hours stays of bounded length, without losing an extreme.

const LONGEST = 2000;
const KEPT = 1000;

// In place, once it is too long: its ends, and the minimum and the maximum of each of its stretches.
export function thin(curve, longest = LONGEST, kept = KEPT) {
  const { length } = curve.env_steps;
  if (length <= longest) return;
  const chosen = chosenOf(curve.episodic_return, kept);
  for (const [name, column] of Object.entries(curve)) {
    if (Array.isArray(column)) curve[name] = chosen.map((index) => column[index]);
  }
}

function chosenOf(values, kept) {
  const stretches = Math.floor(kept / 3);
  const chosen = new Set([0, values.length - 1]);
  for (let stretch = 0; stretch < stretches; stretch += 1) {
    const from = Math.floor((stretch * values.length) / stretches);
    const to = Math.floor(((stretch + 1) * values.length) / stretches);
    let [low, high, gap] = [-1, -1, -1];
    for (let index = from; index < to; index += 1) {
      const value = values[index];
      if (value === null) gap = index;
      else {
        if (low < 0 || value < values[low]) low = index;
        if (high < 0 || value > values[high]) high = index;
      }
    }
    for (const index of [low, high, gap]) if (index >= 0) chosen.add(index);
  }
  return [...chosen].sort((a, b) => a - b);
}
