// The champion's line, and what happened.
import { $, address, h, refill, setText } from "./dom.js";
import { changes, clock, fullTime, number, plural, setting } from "./format.js";

const SHOWN_EVENTS = 12;
const LINE_ENDS = 4;
const BAD = new Set(["pod_failed", "failed", "target_missed"]);
// What happens to a whole pool at once is one line.
const TOGETHER = { pod_stopped: "stopped", pod_moved: "saved their states and left their workers" };

// First and last value of each setting that changed along the line.
function drift(ancestry) {
  const ends = new Map();
  for (const member of ancestry) {
    for (const [name, [old, now]] of Object.entries(member.changes ?? {})) {
      ends.set(name, [ends.has(name) ? ends.get(name)[0] : old, now]);
    }
  }
  return [...ends].filter(([, [old, now]]) => setting(old) !== setting(now)).map(([name, [old, now]]) => `${name} ${setting(old)} → ${setting(now)}`);
}

export function lineSentence(ancestry) {
  if (!ancestry.length) return "The champion's line appears with the first agent on the board.";
  if (ancestry.length === 1) {
    const how = ancestry[0].strategy === "rerun" ? "ran another's schedule again from scratch" : "started fresh";
    return `The champion ${ancestry[0].name} is a founder: it ${how}.`;
  }
  const moved = drift(ancestry).slice(0, 3);
  return `The champion's line: ${ancestry[0].name}'s start, ${plural(ancestry.length - 1, "descent")}${moved.length ? `, ${moved.join(", ")}` : ""}`;
}

function member(item) {
  const changed = changes(item.changes);
  return h("li", {}, h("a", { class: "ancestor", "data-agents": item.id, href: address(`/agents/${item.id}/`) }, h("strong", {}, item.name),
    h("span", { class: "sub" }, `${item.strategy} · ${number(item.score)}`), changed && h("span", { class: "changes" }, changed)));
}

// Of a long line the middle waits until it is asked for, and can be put away again, by a button that keeps the focus.
export function lineShow(list, sentence, ancestry) {
  setText(sentence, lineSentence(ancestry));
  const middle = ancestry.slice(LINE_ENDS, -LINE_ENDS);
  if (middle.length < 2) {
    refill(list, ancestry.map(member));
    return;
  }
  const open = list.dataset.open === ancestry[0].id;
  const focused = list.contains(document.activeElement) && document.activeElement.matches("button");
  const fold = h("button", { type: "button", class: "ancestor", "aria-expanded": String(open) }, open ? "fewer" : `${middle.length} more`);
  fold.addEventListener("click", () => {
    list.dataset.open = open ? "" : ancestry[0].id;
    lineShow(list, sentence, ancestry);
    $("button", list).focus({ preventScroll: true });
  });
  const shown = open ? middle.map(member) : [];
  refill(list, [...ancestry.slice(0, LINE_ENDS).map(member), h("li", {}, fold), ...shown, ...ancestry.slice(-LINE_ENDS).map(member)]);
  if (focused) fold.focus({ preventScroll: true });
}

// The agent's name in a sentence is a link to it.
function told(event) {
  const name = event.agent_name;
  const at = name ? event.text.indexOf(name) : -1;
  if (at < 0) return [event.text];
  return [event.text.slice(0, at), h("a", { class: "strong", href: address(`/agents/${event.agent}/`) }, name), event.text.slice(at + name.length)];
}

// Neighbours of one kind that are told together.
function grouped(events) {
  const groups = [];
  for (const event of events) {
    const last = groups.at(-1);
    if (last && TOGETHER[event.kind] && last[0].kind === event.kind) last.push(event);
    else groups.push([event]);
  }
  return groups;
}

function line([event, ...others]) {
  if (!others.length) return told(event);
  return [`${plural(others.length + 1, "pod")} ${TOGETHER[event.kind]}.`];
}

export class Events {
  constructor(list, button) {
    this.list = list;
    this.button = button;
    this.all = false;
    button.addEventListener("click", () => {
      this.all = true;
      this.render(this.events);
    });
  }

  render(events) {
    this.events = events;
    const groups = grouped(events);
    const shown = this.all ? groups : groups.slice(0, SHOWN_EVENTS);
    refill(this.list, shown.map((group) => h("li", { "data-agents": group.map((event) => event.agent).filter(Boolean).join(" ") || null },
      h("time", { datetime: group[0].at, title: fullTime(group[0].at) }, clock(group[0].at)),
      h("span", { class: BAD.has(group[0].kind) ? "bad" : null }, line(group)))));
    this.button.hidden = this.all || groups.length <= SHOWN_EVENTS;
  }
}
