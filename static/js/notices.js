// Notifications of this browser: of its open pages one asks every half minute, and only where somebody wants them.
import { call, toast } from "./api.js";
import { $, address } from "./dom.js";

const EVERY_MS = 30_000;
const MOST = 5;
const { user } = document.body.dataset;
const WISH = `notices.${user}`;
const LAST = `notices.${user}.last`;
const NOTHING = { mine: false, all: false, bells: {} };
const TITLES = { ended: "has ended", failed: "has failed", trouble: "is in trouble" };

// Locks, by which one page asks for all, are where notifications are: https, or the machine itself.
export const possible = "Notification" in window && isSecureContext && "locks" in navigator;

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Storage may be closed to us; then nothing is remembered.
  }
}

// What somebody wants here: all their own, all they may see, and single tournaments by their bell, on or off.
export const wish = () => ({ ...NOTHING, ...read(WISH) });

export const watches = ({ mine, all, bells }, id, isMine) => bells[id] ?? (all || (mine && isMine));

const wanted = ({ mine, all, bells }) => mine || all || Object.values(bells).some(Boolean);

export const allowed = () => possible && Notification.permission === "granted";

// Ask for the permission if need be. What is in the way is told by a sentence, "" when nothing is.
export async function permit() {
  if (!possible) return "Browsers show notifications only for pages over https or from the machine itself. A webhook works anyway.";
  if (Notification.permission === "default") await Notification.requestPermission();
  return allowed() ? "" : "Notifications of this site are blocked: allow them in the browser's settings for it.";
}

export function want(change) {
  const before = wish();
  // What happened while nobody wanted to know is old news.
  if (!wanted(before)) write(LAST, null);
  write(WISH, { ...before, ...change });
  follow();
}

export function show(title, body, tag, open) {
  try {
    const shown = new Notification(title, { body, tag, icon: $('link[rel="icon"]').href });
    shown.addEventListener("click", () => {
      focus();
      shown.close();
      if (open) location.assign(address(open));
    });
  } catch {
    toast(body); // a phone's browser, which has them for service workers only
  }
}

async function ask() {
  const last = read(LAST);
  const path = last === null ? "/api/notices?limit=1" : `/api/notices?since=${last}&limit=100`;
  const { items } = await call("GET", path);
  if (items.length || last === null) write(LAST, items[0]?.id ?? "0");
  if (last === null) return;
  const now = wish();
  const told = items.filter((item) => watches(now, item.tournament, item.mine)).slice(0, MOST);
  for (const item of told.reverse()) {
    const [title, path] = item.tournament ? [`${item.tournament_name} ${TITLES[item.kind]}`, `/tournaments/${item.tournament}/`]
      : ["Storage is nearly full", "/storage/"];
    show(title, item.text, `podracer-${item.id}`, path);
  }
  forget(now, items.filter((item) => item.kind !== "trouble"));
}

// A tournament that is over needs no bell.
function forget(now, over) {
  const left = over.filter((item) => item.tournament in now.bells);
  if (!left.length) return;
  for (const item of left) delete now.bells[item.tournament];
  want({ bells: now.bells });
}

let running = null;

function follow() {
  const on = allowed() && wanted(wish());
  if (on && !running) {
    running = new AbortController();
    const { signal } = running;
    navigator.locks.request(WISH, { signal }, () => loop(signal)).catch(() => {}); // aborted while it waited
  } else if (!on && running) {
    running.abort();
    running = null;
  }
}

async function loop(signal) {
  while (!signal.aborted) {
    try {
      await ask();
    } catch (error) {
      if (error.status === 401 || error.status === 403) return; // signed out; the next page starts anew
    }
    if (signal.aborted) return;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, EVERY_MS);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      }, { once: true });
    });
  }
}

function bellStart(bell) {
  const { bell: id } = bell.dataset;
  const mine = "mine" in bell.dataset;
  const on = () => allowed() && watches(wish(), id, mine);
  const draw = () => bell.setAttribute("aria-pressed", String(on()));
  bell.addEventListener("click", async () => {
    const wanting = !on();
    const problem = wanting ? await permit() : "";
    if (problem) {
      toast(problem, "bad");
      return;
    }
    want({ bells: { ...wish().bells, [id]: wanting } });
    draw();
    if (wanting) toast("This browser notifies you when it ends, while some page of the dashboard is open.");
  });
  addEventListener("storage", (event) => event.key === WISH && draw());
  draw();
}

export function noticesStart() {
  if (!user) return; // a stranger, or whoever holds a share link
  const bell = $("[data-bell]");
  if (bell) bellStart(bell);
  addEventListener("storage", (event) => event.key === WISH && follow());
  follow();
}
