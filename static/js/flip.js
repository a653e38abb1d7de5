// Rows that change places glide there: measured before, moved, and played back from where they were (FLIP).

const GLIDE_MS = 420;
const MARGIN = 4;

// The rows in sight with their tops; with very many, only these are measured.
function inSight(body) {
  const { top, height } = body.getBoundingClientRect();
  const rows = [...body.children];
  const each = height / Math.max(1, rows.length);
  const first = Math.max(0, Math.floor(-top / each) - MARGIN);
  const shown = rows.slice(first, Math.ceil((innerHeight - top) / each) + MARGIN);
  return new Map(shown.map((row) => [row, row.getBoundingClientRect().top]));
}

// Do what moves the rows of `body`, and let those in sight glide; not for who wants less motion, nor while nobody looks.
export function glide(body, move) {
  if (document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches) {
    move();
    return;
  }
  const before = inSight(body);
  move();
  for (const [row, to] of inSight(body)) {
    const from = before.get(row);
    if (from === undefined || Math.abs(from - to) < 1) continue;
    row.animate([{ transform: `translateY(${from - to}px)` }, { transform: "none" }], { duration: GLIDE_MS, easing: "cubic-bezier(0.2, 0.7, 0.2, 1)" });
  }
}
