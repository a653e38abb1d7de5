// A curve in a sentence, for whoever cannot see it.
import { count, number } from "./format.js";

export function curveWords(name, xs, ys) {
  const points = xs.map((x, index) => [x, ys[index]]).filter(([, y]) => typeof y === "number" && Number.isFinite(y));
  if (!points.length) return `${name}: no point yet.`;
  const at = ([x, y]) => `${number(y)} at ${count(x)} env steps`;
  const by = (better) => points.reduce((found, point) => (better(point[1], found[1]) ? point : found));
  return `${name} from ${at(points[0])} to ${at(points.at(-1))}; highest ${at(by((a, b) => a > b))}, lowest ${at(by((a, b) => a < b))}.`;
}
