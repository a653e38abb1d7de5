// Rows that change places glide there: measured before, moved, and played back from where they were (FLIP).

const GLIDE_MS = 420;

// Do what moves `rows`, and let those in sight glide; not for who wants less motion, nor while nobody looks.
export function glide(rows, move) {
  if (document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches) {
    move();
    return;
  }
  const before = new Map(rows.filter((row) => row.isConnected).map((row) => [row, row.getBoundingClientRect().top]));
  move();
  const moves = [...before].map(([row, from]) => [row, from, row.isConnected ? row.getBoundingClientRect().top : from]);
  for (const [row, from, to] of moves) {
    if (Math.abs(from - to) < 1 || Math.max(from, to) < 0 || Math.min(from, to) > innerHeight) continue;
    row.animate([{ transform: `translateY(${from - to}px)` }, { transform: "none" }], { duration: GLIDE_MS, easing: "cubic-bezier(0.2, 0.7, 0.2, 1)" });
  }
}
