// What of an agent's page changes while its pod trains, apart from the curve.
import { call } from "./api.js";
import { keepAsking } from "./connection.js";
import { $, h, renew, setText } from "./dom.js";
import { clock, count, duration, fullTime } from "./format.js";

const EVERY_MS = 2000;
let told = "";

function trainedShow({ total_env_steps: total, env_steps: own, seconds }) {
  setText($("[data-trained]"), count(total));
  setText($("[data-trained-own]"), `${count(own)} of them its own, in ${duration(seconds)}`);
}

// Whoever reads further up stays there; whoever sees the end goes on seeing it.
function logShow(lines) {
  const now = JSON.stringify([lines.length, lines.at(-1)]);
  if (now === told) return;
  told = now;
  const log = $("[data-log]");
  log.hidden = !lines.length;
  $("[data-log-empty]").hidden = lines.length > 0;
  const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 4;
  renew(log, lines.map(({ at, level, text }) =>
    h("div", { class: level }, h("time", { datetime: at, "data-clock": "", title: fullTime(at) }, clock(at)), text)));
  if (follows) log.scrollTop = log.scrollHeight;
}

// With another status there are score, episodes and checkpoint: then the page is made anew.
export function agentFollow(agent, curveAsk, curveShow) {
  keepAsking((signal) => Promise.all([call("GET", `/api/agents/${agent.id}`, undefined, signal), curveAsk(signal)]), ([now, curve]) => {
    if (now.status !== agent.status) {
      location.reload();
    } else if (now.pod) { // an ensemble has neither
      trainedShow(now);
      logShow(now.log);
      curveShow(curve);
    }
  }, EVERY_MS);
}
