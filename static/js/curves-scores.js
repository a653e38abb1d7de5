// The evaluation of an agent, marked where its curve ends. A score is of deterministic episodes after the training; the
// curve is of the training's episodes, exploration and the mistakes of earlier policies included, and so ends elsewhere.
import { margin, number } from "./format.js";

const HALF = 4.5;
const REACH = 12;

// item: a row of the leaderboard, or a pod; null where there is nothing to mark.
export function markOf(item, line, color) {
  const { agent, score, score_low: low, score_high: high } = item;
  if (!Number.isFinite(score) || !line.end) return null;
  return { agent, color, end: line.end, score, low: low ?? score, high: high ?? score };
}

export function paintMark(ctx, { score, low, high, end, color }, at, surface) {
  if (!within(at.x, end.x) || !within(at.y, score)) return;
  const x = at.x.at(end.x);
  const up = (value) => at.y.at(Math.min(Math.max(value, at.y.low), at.y.high));
  ctx.strokeStyle = color;
  ctx.lineWidth = 1;
  ctx.globalAlpha = 0.5;
  ctx.setLineDash([2, 3]);
  upright(ctx, x, up(end.y), up(score));
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.6;
  upright(ctx, x, up(low), up(high));
  ctx.beginPath();
  for (const [dx, dy] of [[0, -HALF], [HALF, 0], [0, HALF], [-HALF, 0]]) ctx.lineTo(x + dx, up(score) + dy);
  ctx.closePath();
  ctx.fillStyle = surface;
  ctx.fill();
  ctx.stroke();
}

const within = ({ low, high }, value) => value >= low && value <= high;

function upright(ctx, x, from, to) {
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
}

// The mark under the pointer, and the end of the curve that it belongs to.
export function nearestMark(marks, at, px, py) {
  let best = null;
  for (const { agent, end, score } of marks) {
    const away = Math.hypot(at.x.at(end.x) - px, at.y.at(score) - py);
    if (away < REACH && away <= (best?.away ?? REACH)) best = { agent, away, ...end, tipY: score };
  }
  return best;
}

export const scoreWords = (item) => `evaluation ${number(item.score)} ${margin(item)}`.trim() + ", deterministic";
