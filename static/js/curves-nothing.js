// Why a plot has no line, said in its middle, with a way out where there is one.
import { h, renew } from "./dom.js";

// Each with what it says, and the view that would show something.
const REASONS = {
  waiting: { text: "Waiting for the first points…" },
  unknown: { text: "No episode has ended so far, so there is no return to draw." },
  negative: { text: "Every return is 0 or less, and a logarithmic axis has only what is above 0.", way: "Show them on a linear axis", view: { y: "linear" } },
  nobody: { text: "Nobody is on the leaderboard, and no pod trains now.", way: "Show all pods", view: { pods: "all" } },
};

// A key of REASONS; null where there is a line.
export function nothingOf({ lines, view }) {
  if (lines.some((line) => line.end)) return null;
  if (lines.some((line) => line.dropped)) return "negative";
  if (lines.some((line) => line.x.length)) return "unknown";
  return view.pods === "board" && !lines.length ? "nobody" : "waiting";
}

export class Nothing {
  constructor(element) {
    this.note = h("div", { class: "curves-nothing", hidden: true });
    element.append(this.note);
  }

  show(reason) {
    const { text, way } = REASONS[reason] ?? {};
    this.note.hidden = !reason;
    renew(this.note, [text && h("p", {}, text), way && h("button", { type: "button", value: reason }, way)].filter(Boolean));
  }
}

// The view that the button of a reason offers.
export const insteadOf = (reason) => REASONS[reason].view;
