// What the lines mean, and what of them is not seen.
import { $, h, setText } from "./dom.js";
import { plural } from "./format.js";

const entry = (kind, text) => h("span", {}, h("i", { class: kind }), text);

function entries({ view, growing, board, others, target, champion, marks }) {
  const goal = target === null ? [] : [entry("dash", "target")];
  const pods = entry("ghost", "single pods");
  const scored = marks.length ? [entry(`scored c${champion % 12}`, view.pods === "best" ? "the champion's evaluation" : "evaluation, deterministic")] : [];
  if (view.pods === "best") return [entry("accent", "best return of all pods so far"), ...scored, pods, ...goal];
  if (view.pods === "band") {
    const [middle, band] = view.band === "iqm" ? ["interquartile mean of the pods at x", "middle half of the pods"]
      : ["mean of the pods at x", "95 % interval of the mean, no wider than the range of the pods"];
    return [entry("accent", middle), entry("band", band), pods, ...goal];
  }
  return [
    entry(`c${champion % 12}`, "leaderboard, in the colour of its chip"),
    ...scored,
    (growing.length > 0 || !board.length) && entry("run", "training now"),
    (others.length > 0 || view.pods === "all") && entry("ghost", "others"),
    ...goal,
  ].filter(Boolean);
}

function missing({ view, lines }, beyond) {
  const dropped = lines.reduce((sum, line) => sum + line.dropped, 0);
  const outside = beyond.others + beyond.growing + beyond.board;
  return [
    view.smoothing > 0 && `Smoothed ${view.smoothing}; the faint line is the return itself.`,
    dropped > 0 && `${plural(dropped, "value")} of 0 or less cannot be shown on a log axis and ${dropped === 1 ? "is" : "are"} left out.`,
    outside > 0 && `▲ ${plural(outside, "point")} beyond the axis.`,
  ].filter(Boolean).join(" ");
}

let shown = "";

export function legendShow(figure, scene, beyond) {
  const built = entries(scene);
  const text = built.map((item) => item.outerHTML).join("");
  if (text !== shown) $("[data-legend]", figure).replaceChildren(...built);
  shown = text;
  setText($("[data-curves-missing]", figure), missing(scene, beyond));
}
