// What a page says when it has lost the server, and how pages without a socket keep asking it.
import { $, setText } from "./dom.js";

// A server that is there has answered long before.
const OVERDUE_MS = 5_000;
const AGAIN_MS = 1_000;
// One that takes its time is asked less often: what it works for a page stays a small share of its time.
const RESTS = 5;
const LOST = "Connection lost, trying again… What is shown may be old.";

export function lostShow(text = LOST) {
  setText($("[data-connection]"), text);
  $("[data-connection]").hidden = false;
}

export function lostHide() {
  $("[data-connection]").hidden = true;
}

// Ask(signal) every so often while somebody looks, and show(answer, end), where end() asks no more. What failed once may
// be a hiccup, twice is told. Answers what asks at once.
export function keepAsking(ask, show, everyMs, overdueMs = OVERDUE_MS) {
  let over = false;
  let failures = 0;
  let timer = null;
  let latest = 0;

  async function round() {
    clearTimeout(timer);
    if (document.hidden || over) return; // asked when somebody looks again
    const mine = ++latest;
    const patience = new AbortController();
    const asked = performance.now();
    const overdue = setTimeout(() => patience.abort(), overdueMs);
    const [answer, problem] = await ask(patience.signal).then((found) => [found, null], (error) => [null, error]);
    clearTimeout(overdue);
    if (mine !== latest) return; // one that was asked later has said more
    failures = problem ? failures + 1 : 0;
    timer = setTimeout(round, problem ? AGAIN_MS : Math.max(everyMs, RESTS * (performance.now() - asked)));
    if (!problem) {
      lostHide();
      await show(answer, end);
    } else if (failures > 1 || !navigator.onLine) {
      // A refusal has its reason; else nobody answered.
      lostShow(problem.status ? problem.message : LOST);
    }
  }

  function end() {
    over = true;
    clearTimeout(timer);
  }

  addEventListener("online", round);
  addEventListener("offline", round);
  document.addEventListener("visibilitychange", () => {
    failures = 0;
    round();
  });
  timer = setTimeout(round, everyMs);
  return round;
}

// A part of a page as HTML. Who was signed out meanwhile is led to sign in.
export async function partOf(address, signal) {
  const response = await fetch(address, { signal });
  if (response.redirected) location.reload();
  if (!response.ok) throw new Error(response.statusText);
  return response.text();
}
