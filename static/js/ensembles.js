// Ensembles on the tournament's page: asking for one, and what becomes of those that are not on the board yet.
import { attempt, call, toast } from "./api.js";
import { $, h, refill } from "./dom.js";

const STATES = { QUEUED: "Waiting for a worker", RUNNING: "Being made and evaluated" };
const USUAL = 3;

export class Ensembles {
  constructor(form, list, path) {
    this.form = form;
    this.list = list;
    this.path = `${path}/ensembles`;
    this.size = $("select", form);
    this.most = Number(form.dataset.most);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    list.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (button) this.act(button);
    });
  }

  async ask() {
    const button = $("button", this.form);
    button.disabled = true;
    await attempt(async () => {
      const { name, status } = await call("POST", this.path, { size: Number(this.size.value) });
      if (status === "FINISHED") toast(`${name} is of these agents already.`);
    });
    button.disabled = false;
  }

  // What it changes comes back over the socket.
  async act(button) {
    const path = `${this.path}/${button.dataset.agent}`;
    button.disabled = true;
    await attempt(() => (button.value === "retry" ? call("POST", `${path}/retry`) : call("DELETE", path)));
    button.disabled = false;
  }

  render({ ranked, making }) {
    const most = Math.min(ranked.length, this.most);
    this.form.hidden = most < 2;
    if (most >= 2 && this.size.length !== most - 1) this.offer(most);
    const shown = JSON.stringify(making);
    if (shown === this.shown) return;
    this.shown = shown;
    refill(this.list, making.map((item) => this.row(item)));
  }

  offer(most) {
    const chosen = Number(this.size.value) || USUAL;
    this.size.replaceChildren(...Array.from({ length: most - 1 }, (_, index) => h("option", {}, String(index + 2))));
    this.size.value = String(Math.min(chosen, most));
  }

  row({ agent, name, status, reason, members }) {
    const failed = status === "FAILED";
    const button = (value, text, label) =>
      h("button", { type: "button", class: "quiet", value, "data-agent": agent, "aria-label": `${label} ${name}` }, text);
    return h("li", { class: "artefact" },
      h("div", { class: "grow" }, h("a", { class: "strong", href: `/agents/${agent}/` }, name),
        h("div", { class: "sub" }, `of ${members.map((member) => member.name).join(" ")}`)),
      failed
        ? [h("div", {}, button("retry", "Try again", "Try again to make"), button("remove", "Remove", "Remove")),
          h("div", { class: "reason FAILED" }, reason)]
        : h("div", { class: "making" }, STATES[status], h("progress", { "aria-label": name })));
  }
}
