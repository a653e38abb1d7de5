// Drawing on a canvas: lines, bands, dots and marks for what lies beyond. `at` has the scales x and y.

export function paintLine(ctx, xs, ys, at) {
  let down = false;
  ctx.beginPath();
  for (let index = 0; index < xs.length; index += 1) {
    const y = ys[index];
    const x = xs[index];
    if (y === null || x === null) {
      down = false;
    } else if (down) {
      ctx.lineTo(at.x.at(x), at.y.at(y));
    } else {
      ctx.moveTo(at.x.at(x), at.y.at(y));
      // A point alone between two gaps is a dot.
      if (ys[index + 1] === null || index + 1 === xs.length) ctx.lineTo(at.x.at(x) + 1, at.y.at(y));
      down = true;
    }
  }
  ctx.stroke();
}

// Between two columns; nothing where one of them is not known.
export function paintBand(ctx, xs, lows, highs, at) {
  const known = (index) => lows[index] !== null && highs[index] !== null;
  for (let from = 0; from < xs.length; from += 1) {
    if (!known(from)) continue;
    let to = from;
    while (to + 1 < xs.length && known(to + 1)) to += 1;
    ctx.beginPath();
    for (let index = from; index <= to; index += 1) ctx.lineTo(at.x.at(xs[index]), at.y.at(highs[index]));
    for (let index = to; index >= from; index -= 1) ctx.lineTo(at.x.at(xs[index]), at.y.at(lows[index]));
    ctx.closePath();
    ctx.fill();
    from = to;
  }
}

export function paintDot(ctx, { x, y }, at, radius) {
  ctx.beginPath();
  ctx.arc(at.x.at(x), at.y.at(y), radius, 0, 2 * Math.PI);
  ctx.fill();
}

const MARK = 8;

// A triangle at the edge wherever the line is above or below the axis; answers how many points that are.
export function paintBeyond(ctx, { x: xs, y: ys }, at, taken) {
  let beyond = 0;
  for (let index = 0; index < xs.length; index += 1) {
    const y = ys[index];
    if (y === null || xs[index] === null || (y >= at.y.low && y <= at.y.high)) continue;
    if (xs[index] < at.x.low || xs[index] > at.x.high) continue;
    beyond += 1;
    const above = y > at.y.high;
    const x = at.x.at(xs[index]);
    const place = `${above} ${Math.round(x / MARK)}`;
    if (taken.has(place)) continue;
    taken.add(place);
    const edge = above ? at.y.end : at.y.start;
    const inwards = above ? 5 : -5;
    ctx.beginPath();
    ctx.moveTo(x, edge + (above ? 1 : -1));
    ctx.lineTo(x - 3.5, edge + inwards);
    ctx.lineTo(x + 3.5, edge + inwards);
    ctx.fill();
  }
  return beyond;
}
