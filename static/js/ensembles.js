// Ensembles on the tournament's page: asking for one, and what becomes of those that are not on the board yet.
import { attempt, call, toast } from "./api.js";
import { $, address, h, refill } from "./dom.js";

const STATES = { QUEUED: "Waiting for a worker", RUNNING: "Being made and evaluated" };
const USUAL = 3;

export class Ensembles {
  constructor(form, list, path) {
    this.form = form;
    this.list = list;
    this.path = `${path}/ensembles`;
    // Who only looks has no form, and no buttons.
    if (form) this.formStart();
    list.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (button) this.act(button);
    });
  }

  formStart() {
    this.size = $("select", this.form);
    this.most = Number(this.form.dataset.most);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
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
    if (this.form) this.offer(Math.min(ranked.length, this.most));
    const shown = JSON.stringify(making);
    if (shown === this.shown) return;
    this.shown = shown;
    refill(this.list, making.map((item) => this.row(item)));
  }

  offer(most) {
    this.form.hidden = most < 2;
    if (most < 2 || this.size.length === most - 1) return;
    const chosen = Number(this.size.value) || USUAL;
    this.size.replaceChildren(...Array.from({ length: most - 1 }, (_, index) => h("option", {}, String(index + 2))));
    this.size.value = String(Math.min(chosen, most));
  }

  row({ agent, name, status, reason, members }) {
    const failed = status === "FAILED";
    const button = (value, text, label) =>
      h("button", { type: "button", class: "quiet", value, "data-agent": agent, "aria-label": `${label} ${name}` }, text);
    return h("li", { class: "artefact" },
      h("div", { class: "grow" }, h("a", { class: "strong", href: address(`/agents/${agent}/`) }, name),
        h("div", { class: "sub" }, `of ${members.map((member) => member.name).join(" ")}`)),
      failed
        ? [this.form && h("div", {}, button("retry", "Try again", "Try again to make"), button("remove", "Remove", "Remove")),
          h("div", { class: "reason FAILED" }, reason)]
        : h("div", { class: "making" }, STATES[status], h("progress", { "aria-label": name })));
  }
}
