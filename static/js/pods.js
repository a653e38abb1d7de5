// The pods: those that train now first, then those that wait, then the newest that ended.
import { address, h, renew } from "./dom.js";
import { count, number, plural } from "./format.js";

const SHOWN = innerWidth < 600 ? 5 : 10;
const ORDER = { RUNNING: 0, QUEUED: 1, FAILED: 2, FINISHED: 2, STOPPED: 2 };

function where(pod, paused) {
  if (paused && pod.status === "QUEUED") return "paused";
  if (pod.worker) return `${pod.worker}${pod.slot === null ? "" : ` · ${pod.slot}`}`;
  return pod.status === "QUEUED" ? `waits for a ${pod.device === "cuda" ? "GPU" : "CPU"} slot` : "–";
}

function steps(pod) {
  const goal = pod.round_env_steps;
  // The last rollout ends beyond the round as a rule.
  const text = pod.env_steps < goal ? `${count(pod.env_steps)} of ${count(goal)}` : count(pod.env_steps);
  const share = goal ? Math.min(1, pod.env_steps / goal) : pod.status === "FINISHED" ? 1 : 0;
  return [h("div", { class: "bar", "aria-hidden": "true" }, h("i", { style: `width: ${(share * 100).toFixed(1)}%` })),
    h("span", { class: "sub" }, text)];
}

// A pause begins a new attempt too, but only what was lost is retried.
function retried({ losses }) {
  if (!losses) return "";
  return losses === 1 ? " · retried once" : ` · retried ${losses} times`;
}

// Ticked by choose.js; of whoever may not compare there is none.
function box({ agent, agent_name: name }, tournament) {
  return h("input", { type: "checkbox", class: "choose-box", "data-choose": `a${agent}`,
    "data-label": `${name} of ${tournament}`, "aria-label": `Compare ${name}` });
}

function row(pod, color, paused, chosen) {
  return h("tr", { class: pod.status, "data-agents": pod.agent },
    h("td", {}, chosen, h("span", { class: `chip ${color === undefined ? "" : `c${color % 12}`}`, "aria-hidden": "true" }),
      h("a", { href: address(`/agents/${pod.agent}/`) }, pod.agent_name), h("div", { class: "sub" }, `${pod.strategy}${retried(pod)}`)),
    h("td", {}, h("span", { class: `state ${pod.status}` }, h("b", {}, pod.status))),
    h("td", {}, steps(pod), pod.reason && h("div", { class: pod.status === "FAILED" ? "why" : "sub" }, pod.reason)),
    h("td", { class: "num opt return" }, number(pod.episodic_return)),
    h("td", { class: "num score" }, number(pod.score)),
    h("td", { class: "num opt" }, pod.status === "RUNNING" ? count(pod.env_steps_per_second) : "–"),
    h("td", { class: "sub opt" }, where(pod, paused)));
}

export class Pods {
  constructor(body, empty, button) {
    this.body = body;
    this.empty = empty;
    this.button = button;
    this.all = false;
    button.addEventListener("click", () => {
      this.all = !this.all;
      this.render(this.store);
    });
  }

  render(store) {
    this.store = store;
    const colors = new Map(store.leaderboard.map((item) => [item.agent, item.color]));
    const pods = [...store.pods.values()].sort((a, b) => ORDER[a.status] - ORDER[b.status] || Number(b.id) - Number(a.id));
    const { status, name } = store.tournament;
    const choosable = "choosable" in this.body.dataset;
    renew(this.body, (this.all ? pods : pods.slice(0, SHOWN)).map((pod) =>
      row(pod, colors.get(pod.agent), status === "PAUSED", choosable && box(pod, name))));
    this.empty.hidden = pods.length > 0;
    this.button.hidden = pods.length <= SHOWN;
    this.button.textContent = this.all ? "Show fewer" : `Show all ${plural(pods.length, "pod")}`;
  }
}
