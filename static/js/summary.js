// The head of the tournament's page and its four tiles.
import { $, $$, address, h, setText, sparkline } from "./dom.js";
import { count, duration, margin, number, percent, plural, relative, roughly, scaled } from "./format.js";

// The rest: texts and elements.
function big(element, figure, ...rest) {
  const small = h("small", {}, ...rest);
  if (element.textContent !== `${figure} ${small.textContent}`) element.replaceChildren(figure, " ", small);
}

function champion(t) {
  if (t.best_score === null) return ["no agent yet"];
  const name = h("a", { href: address(`/agents/${t.best_agent}/`), "data-agents": t.best_agent }, t.best_agent_name);
  return [`${margin(t, "best_score")} · `, name];
}

let sparkOf = null;

// How near the best score is to the target, as target_progress of podracer_core/tournament/stopping.py tells it.
function targetShare({ target_score: target, best_score: best, sparkline: history }) {
  const first = history[0] ?? best;
  if (best === null) return 0;
  if (best >= target) return 1;
  return target > 0 && first >= 0 ? best / target : (best - first) / (target - first);
}

// Its last step is not a pod's end: it is evaluated then. A rollout may also end beyond its round.
const NEARLY = 0.999;

// What its pods in training have of their rounds, in pods, as _OF_ROUND of webapp/tournaments/selectors.py tells it.
function underWay(t, pods) {
  const rounds = pods.filter(({ status }) => status === "RUNNING" || status === "QUEUED").map((pod) =>
    pod.round_env_steps ? pod.env_steps / pod.round_env_steps : (pod.seconds ?? 0) / (t.spec.round.seconds || Infinity));
  return rounds.reduce((sum, share) => sum + Math.min(NEARLY, share), 0);
}

// Of a budget never more than all is said to be used: those that still train then keep their rounds.
const used = (written, done, budget) => `${written(Math.min(done, budget))} of ${written(budget)}`;

// The rule that is furthest along, with its share from 0 to 1; of equals the target.
export function goal(t, pods = []) {
  const { stop } = t.spec;
  const hours = t.seconds / 3600;
  const rules = [
    t.target_score !== null && [`Towards the target of ${number(t.target_score)}`, targetShare(t)],
    stop.pods && [`Pods ${used(count, t.pods.FINISHED, stop.pods)}`, (t.pods.FINISHED + underWay(t, pods)) / stop.pods],
    stop.env_steps && [`Env steps ${used(count, t.env_steps, stop.env_steps)}`, t.env_steps / stop.env_steps],
    stop.hours && [`Time ${used(duration, t.seconds, stop.hours * 3600)}`, hours / stop.hours],
  ].filter(Boolean).map(([title, share]) => ({ title, share: Math.min(1, Math.max(0, share || 0)) }));
  return rules.sort((a, b) => b.share - a.share)[0] ?? { title: "Progress", share: t.progress };
}

function remaining(t) {
  if (t.status === "RUNNING") {
    if (t.seconds_left === null) return "running";
    // A score or patience may end it sooner.
    const most = t.target_score !== null || t.spec.stop.patience ? "at most " : "";
    return `${most}${roughly(Math.max(0, t.seconds_left - secondsSince(t)))} left`;
  }
  return t.status === "DRAFT" ? "not started" : t.status.toLowerCase();
}

// The server's figure is of the moment when it was sent.
let received = performance.now();
let receivedSeconds = null;

function secondsSince(t) {
  return t.status === "RUNNING" ? (performance.now() - received) / 1000 : 0;
}

const secondsNow = (t) => t.seconds + secondsSince(t);

export function whenText(t) {
  if (t.status === "DRAFT") return `made ${relative(t.created_at)}, not started`;
  if (t.finished_at) return `ran ${duration(t.seconds)}, ended ${relative(t.finished_at)}`;
  return `started ${relative(t.started_at)}, ran ${duration(secondsNow(t))}`;
}

function tiles(t, rounds) {
  big($("[data-best]"), number(t.best_score), ...champion(t));
  if (sparkOf !== String(t.sparkline)) $("[data-spark]").replaceChildren(...[sparkline(t.sparkline)].filter(Boolean));
  sparkOf = String(t.sparkline);
  const { title, share } = goal(t, rounds);
  setText($("[data-goal-title]"), title);
  big($("[data-goal]"), share === null ? "–" : percent(share), remaining(t));
  $("[data-bar]").setAttribute("aria-valuenow", Math.round((share ?? 0) * 100));
  $("[data-bar]").setAttribute("aria-label", title);
  $("[data-bar] i").style.width = `${((share ?? 0) * 100).toFixed(1)}%`;
  const average = t.seconds > 0 ? t.env_steps / t.seconds : 0;
  // Between two short pods nothing has a rate yet; what was reached so far says more than 0.
  const live = t.status === "RUNNING" && t.env_steps_per_second > 0;
  const [rate, unit] = scaled(live ? t.env_steps_per_second : average);
  big($("[data-rate]"), `${rate} ${unit}`.trim(), live ? "env steps/s" : "env steps/s on average");
  setText($("[data-steps]"), `${count(t.env_steps)} steps so far`);
  const { pods } = t;
  big($("[data-pods]"), String(pods.FINISHED), `finished · ${pods.RUNNING} running`);
  setText($("[data-pods-more]"), [pods.QUEUED && `${pods.QUEUED} queued`, `${t.retried} retried`, `${pods.FAILED} failed`,
    pods.STOPPED && `${pods.STOPPED} stopped`].filter(Boolean).join(" · "));
}

// How often a first impression was wrong.
function reevaluated(t) {
  const line = $("[data-reevaluated]");
  line.hidden = !t.reevaluations;
  const changed = t.reevaluations_changed ? `${count(t.reevaluations_changed)} then ranked elsewhere or not at all` : "all ranked as at first";
  setText(line, `${plural(t.reevaluations, "newcomer")} evaluated again on fresh seeds: ${changed}.`);
}

export function summaryShow(t, pods) {
  if (t.seconds !== receivedSeconds) {
    receivedSeconds = t.seconds;
    received = performance.now();
  }
  reevaluated(t);
  const pill = $("[data-pill]");
  if (!pill.classList.contains(t.status)) pill.className = `pill ${t.status}`;
  setText($("[data-status]"), t.status);
  setText($("[data-name]"), t.name);
  document.title = `${t.name} · Podracer`;
  for (const button of $$("[data-when-status]")) button.hidden = !button.dataset.whenStatus.split(" ").includes(t.status);
  const stepper = $("[data-stepper]"); // of those who may only look there is none
  if (stepper) stepper.hidden = !["DRAFT", "RUNNING", "PAUSED"].includes(t.status);
  $("[data-archived]").hidden = !t.archived;
  setText($("[data-archive]"), t.archived ? "Unarchive" : "Archive");
  setText($("[data-when]"), whenText(t));
  const reason = $("[data-reason]");
  reason.hidden = !t.reason;
  reason.className = `reason ${t.status}`;
  setText(reason, t.reason);
  tiles(t, pods);
}
