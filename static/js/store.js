// What the page knows of a tournament, kept up to date by the messages of its socket. Knows no DOM.
import { thin } from "./thinning.js";

const COLUMNS = ["env_steps", "seconds", "episodic_return"];

// The server sends this many pods at most.
const COMPLETE = 1000;

// Seconds of training over which a pod's rate is taken.
const RATE_WINDOW = 3;

export class Store {
  constructor(snapshot) {
    this.replace(snapshot);
  }

  replace(snapshot) {
    this.tournament = snapshot.tournament;
    this.boardTake(snapshot.leaderboard);
    this.pods = new Map(snapshot.pods.items.map((pod) => [pod.id, pod]));
    this.runningPods = null;
    this.podOfAgent = new Map(snapshot.pods.items.map((pod) => [pod.agent, pod]));
    this.events = snapshot.events.items;
    this.curvesTake(snapshot.curves);
  }

  // The page itself comes without curves; the socket's snapshot brings them.
  curvesTake(curves) {
    this.complete = curves !== undefined;
    this.curves = new Map(Object.entries(curves ?? {}));
    // Of agents whose pod was lost: the newest attempt that was heard of, and where it went on.
    this.resumed = new Map();
  }

  // Asked with every point, so not looked for among a thousand pods each time.
  running() {
    this.runningPods ??= [...this.pods.values()].filter((pod) => pod.status === "RUNNING");
    return this.runningPods;
  }

  nameOf(agent) {
    return this.podOfAgent.get(agent)?.agent_name ?? this.curves.get(agent)?.name ?? "";
  }

  // Who is on the leaderboard has an interval too; null of an agent that was not evaluated.
  scoreOf(agent) {
    const item = this.ranked.find((one) => one.agent === agent) ?? this.podOfAgent.get(agent);
    return Number.isFinite(item?.score) ? item : null;
  }

  // Apply one message; answers which parts changed.
  apply({ type, data }) {
    switch (type) {
      case "snapshot":
        this.replace(data);
        return ["tournament", "leaderboard", "pods", "events", "curves"];
      case "status":
        this.tournament = data;
        return ["tournament"];
      case "leaderboard":
        this.boardTake(data);
        this.championTake();
        return ["leaderboard", "curves", "tournament"];
      case "event":
        if (!this.events.some((event) => event.id === data.id)) {
          // The newest first, whichever worker's message came first.
          this.events = [data, ...this.events].sort((one, other) => other.id - one.id);
        }
        return ["events"];
      case "pod":
        return this.podApply(data);
      case "curve":
        return this.curveApply(data);
      default:
        return [];
    }
  }

  // Ensembles stand among the agents and have no rank.
  boardTake({ items, making = [] }) {
    this.leaderboard = items;
    this.ranked = items.filter((item) => item.rank !== null);
    this.making = making;
  }

  podApply(pod) {
    const old = this.pods.get(pod.id);
    this.pods.set(pod.id, pod);
    this.runningPods = null;
    this.podOfAgent.set(pod.agent, pod);
    if (old && pod.attempt > old.attempt) this.curveCut(pod.agent, pod.env_steps);
    const redraw = !old || old.status !== pod.status || old.attempt !== pod.attempt;
    if (redraw) this.podsCount();
    return redraw ? ["pods", "curves", "tournament"] : ["pods"];
  }

  // The head of the page follows the board and the pods at once, not only with the next status.
  championTake() {
    const [best] = this.ranked;
    if (!best) return;
    const t = this.tournament;
    if (best.agent !== t.best_agent) t.sparkline = [...t.sparkline, best.score];
    Object.assign(t, { best_agent: best.agent, best_agent_name: best.name, best_score: best.score,
      best_score_low: best.score_low, best_score_high: best.score_high });
  }

  podsCount() {
    // Of a longer list only the newest were sent: then the server's count it is.
    if (this.pods.size >= COMPLETE) return;
    const counts = { QUEUED: 0, RUNNING: 0, FINISHED: 0, FAILED: 0, STOPPED: 0 };
    for (const { status } of this.pods.values()) counts[status] += 1;
    this.tournament.pods = counts;
  }

  // A new attempt goes on from its last saved state; what lay beyond was lost with the old one.
  curveCut(agent, envSteps) {
    const curve = this.curves.get(agent);
    if (!curve) return;
    let kept = curve.env_steps.length;
    while (kept && curve.env_steps[kept - 1] > envSteps) kept -= 1;
    for (const name of COLUMNS) curve[name].length = kept;
  }

  curveApply(data) {
    const pod = this.pods.get(data.pod);
    const changed = ["points"];
    const resumed = this.resumed.get(data.agent) ?? { attempt: 1, at: Infinity };
    if (data.attempt < Math.max(resumed.attempt, pod?.attempt ?? 1)) return this.curveAmend(data, resumed.at);
    if (pod && data.attempt > pod.attempt) {
      pod.attempt = data.attempt;
      changed.push("curves");
    }
    if (data.attempt > resumed.attempt && data.env_steps.length) {
      this.curveCut(data.agent, data.env_steps[0] - 1);
      this.resumed.set(data.agent, { attempt: data.attempt, at: data.env_steps[0] });
      changed.push("curves");
    }
    if (!this.curves.has(data.agent)) {
      if (!data.env_steps.length) return [];
      this.curves.set(data.agent, { env_steps: [], seconds: [], episodic_return: [] });
      changed.push("curves");
    }
    const curve = this.curves.get(data.agent);
    const last = curve.env_steps.at(-1) ?? -1;
    data.env_steps.forEach((envSteps, index) => {
      if (envSteps > last) for (const name of COLUMNS) curve[name].push(data[name]?.[index] ?? null);
    });
    const envSteps = curve.env_steps.at(-1);
    if (pod && envSteps > last) {
      this.advance(pod, envSteps, curve);
      pod.episodic_return = curve.episodic_return.at(-1) ?? pod.episodic_return;
      changed.push("pods", "tournament");
    }
    thin(curve);
    if (data.kept_env_steps !== undefined) {
      this.curveCut(data.agent, data.kept_env_steps);
      changed.push("curves");
    }
    return changed;
  }

  // What a lost attempt has said, heard after the next one: its worker's messages take a way of their own. It counts up
  // to the saved state, which a message with `kept_env_steps` tells, and never from where the next one went on.
  curveAmend(data, resumedAt) {
    const kept = data.kept_env_steps ?? Infinity;
    const curve = this.curves.get(data.agent) ?? { env_steps: [], seconds: [], episodic_return: [] };
    const old = curve.env_steps.map((envSteps, index) => [envSteps, curve, index]);
    const late = data.env_steps.map((envSteps, index) => [envSteps, data, index]);
    const known = new Set(curve.env_steps);
    const rows = [...old.filter(([envSteps]) => envSteps <= kept || envSteps >= resumedAt),
      ...late.filter(([envSteps]) => envSteps <= kept && envSteps < resumedAt && !known.has(envSteps))];
    if (!rows.length && !old.length) return [];
    rows.sort((a, b) => a[0] - b[0]);
    const columns = COLUMNS.map((name) => [name, rows.map(([, from, index]) => from[name][index] ?? null)]);
    this.curves.set(data.agent, Object.assign(curve, Object.fromEntries(columns)));
    return ["points", "curves"];
  }

  // Between two messages of its status a tournament's steps and rate follow from its pods' points.
  advance(pod, envSteps, curve) {
    this.tournament.env_steps += Math.max(0, envSteps - pod.env_steps);
    pod.env_steps = Math.max(pod.env_steps, envSteps);
    const last = curve.seconds.length - 1;
    let first = last;
    while (first > 0 && curve.seconds[last] - curve.seconds[first] < RATE_WINDOW) first -= 1;
    const seconds = curve.seconds[last] - curve.seconds[first];
    if (seconds > 0) pod.env_steps_per_second = (curve.env_steps[last] - curve.env_steps[first]) / seconds;
    this.tournament.env_steps_per_second = this.running().reduce((sum, other) => sum + other.env_steps_per_second, 0);
  }
}
